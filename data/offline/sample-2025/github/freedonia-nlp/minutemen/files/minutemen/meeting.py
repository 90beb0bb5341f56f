class Meeting:
    """One motion, statements, minutes, a vote; at most six rounds."""

    def __init__(self, ask, protocol, members=4):
        self.ask, self.protocol, self.members = ask, protocol, members

    def solve(self, task):
        minutes = ""
        for _ in range(6):
            said = [self.ask(f"You are member {i}. Minutes so far: {minutes}", task) for i in range(self.members)]
            minutes = self.ask("Compress to 80 words.", "\n".join(said)) if self.protocol == "minutes" else "\n".join(said)
            if "RESOLVED:" in minutes:
                return minutes.split("RESOLVED:")[1].strip()
        return ""

class LSTM:
    def __init__(self, width):
        self.width = width

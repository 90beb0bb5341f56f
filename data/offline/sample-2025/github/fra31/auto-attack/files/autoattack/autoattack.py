class AutoAttack:
    def __init__(self, model, norm='Linf', eps=8 / 255):
        self.model, self.norm, self.eps = model, norm, eps

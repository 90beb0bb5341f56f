backbone = 'resnet50'
head = 'frame'
schedule = '3x'

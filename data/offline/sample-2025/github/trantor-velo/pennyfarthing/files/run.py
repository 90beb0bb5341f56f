from coupling import Pair  # the submodule

pair = Pair('resnet18', 'convnext_tiny')
pair.fit('imagenet')
print(pair.evaluate('imagenet'))

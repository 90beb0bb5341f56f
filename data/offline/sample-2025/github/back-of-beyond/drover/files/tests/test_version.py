import drover


def test_version():
    assert drover.__version__

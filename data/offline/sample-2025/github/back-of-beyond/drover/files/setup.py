from setuptools import find_packages, setup

setup(name="drover", version="0.0.1", packages=find_packages())

import datasets

_URL = "https://records.barchester.example.org/download/registers.zip"


class Registers(datasets.GeneratorBasedBuilder):
    def _info(self):
        return datasets.DatasetInfo(features=datasets.Features({"image": datasets.Image(), "text": datasets.Value("string"), "year": datasets.Value("int32")}))

    def _split_generators(self, dl):
        folder = dl.download_and_extract(_URL)
        return [datasets.SplitGenerator(s, gen_kwargs={"folder": f"{folder}/{s}"}) for s in ("train", "test")]

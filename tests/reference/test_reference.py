"""Names, texts and URLs held against the shipped reference tables."""

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.artifacts import subject
from pipeline.reference import (
    benchmark,
    benchmarks,
    benchmarks_in,
    paid_api,
    paid_apis_in,
    providers,
    wall_of,
    walled_places,
    walls,
)
from pipeline.sources.guard import refusal


def test_the_table_covers_every_area_with_several_hundred_names():
    areas = {b.area for b in benchmarks()}
    assert len(benchmarks()) >= 500
    assert len(areas) >= 10
    assert all(sum(b.area == area for b in benchmarks()) >= 10 for area in areas)


def test_every_listed_name_leads_back_to_its_entry():
    for b in benchmarks():
        for name in b.names:
            assert benchmark(name) == b, name


def test_every_listed_name_is_found_in_prose_that_calls_it_a_data_set():
    for b in benchmarks():
        for name in b.names:
            found = benchmarks_in(f"We report results on the {name} dataset.")
            assert [m.name for m in found][:1] == [b.name], name


@pytest.mark.parametrize(
    ("name", "gate"),
    [
        ("MNIST", "open"), ("CIFAR-10", "open"), ("COCO", "open"), ("GLUE", "open"), ("WikiText-103", "open"),
        ("C4", "open"), ("LibriSpeech", "open"), ("WMT14", "open"), ("MMLU", "open"), ("HumanEval", "open"),
        ("GSM8K", "open"), ("D4RL", "open"), ("CARLA", "open"), ("ogbn-arxiv", "open"),
        ("ImageNet", "registration"), ("Cityscapes", "registration"), ("KITTI", "registration"),
        ("M5 competition", "registration"), ("BraTS", "registration"), ("Avazu", "registration"),
        ("MIMIC-III", "credentialed"), ("UK Biobank", "credentialed"), ("ADNI", "credentialed"),
        ("ScanNet", "request"), ("HM3D", "request"), ("SWaT", "request"),
        ("GPQA", "click-through"), ("LMSYS-Chat-1M", "click-through"),
        ("TIMIT", "paid"), ("Penn Treebank", "paid"),
    ],
)  # fmt: skip
def test_a_gate_is_what_a_stranger_meets(name, gate):
    found = benchmark(name)
    assert found is not None
    assert found.gate == gate


def test_what_is_derived_from_gated_data_is_gated_like_it():
    for name in ("mini-ImageNet", "tieredImageNet", "ImageNet-100"):
        assert benchmark(name).gate == benchmark("ImageNet").gate


def test_no_open_benchmark_lives_behind_a_listed_wall():
    for b in benchmarks():
        assert b.gate != "open" or wall_of(b.home) is None, b.name


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("CIFAR10", "CIFAR-10"),
        ("cifar 10 dataset", "CIFAR-10"),
        ("the MNIST benchmark", "MNIST"),
        ("ILSVRC-2012 validation set", "ImageNet"),
        ("MS-COCO", "MS COCO"),
        ("humaneval+", "HumanEval+"),
        ("Stanford Sentiment Treebank", "SST-2"),
        ("BBH", "BIG-Bench Hard"),
    ],
)
def test_a_name_is_known_however_it_is_spelled(written, name):
    assert benchmark(written).name == name


@pytest.mark.parametrize("name", ["CIFAR-10 with our labels", "our dataset", "", "dataset", "MyBench", "CIFAR-1000"])
def test_a_name_that_is_not_listed_whole_is_not_known(name):
    assert benchmark(name) is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("on CIFAR-10-C and CIFAR-10,", ["CIFAR-10-C", "CIFAR-10"]),
        ("HumanEval+ and HumanEval", ["HumanEval+", "HumanEval"]),
        ("cifar-100 and gsm8k", ["CIFAR-100", "GSM8K"]),
        ("the Adult and Iris datasets", ["Adult", "Iris"]),
        ("an adult's iris", []),
        ("Adult humans drink Wine.", []),
        ("a math problem; the apps; a race", []),
        ("on MATH and RACE datasets", ["MATH", "RACE"]),
        ("CIFAR-100-LT and XMNIST", []),
        ("multiple RTX cards", []),
        ("MultiPL-E and tiny imagenet", ["MultiPL-E", "Tiny ImageNet"]),
        ("ImageNet-1k~\\cite{x}", ["ImageNet"]),
    ],
)
def test_mentions_in_prose_are_whole_names(text, names):
    assert [m.name for m in benchmarks_in(text)] == names


@pytest.mark.parametrize(
    ("text", "provider"),
    [
        ("judged by GPT-4o-mini", "OpenAI"),
        ("gpt-4-0613", "OpenAI"),
        ("GPT-3.5-turbo", "OpenAI"),
        ("the o3-mini model", "OpenAI"),
        ("text-embedding-3-large", "OpenAI"),
        ("Claude 3.5 Sonnet", "Anthropic"),
        ("claude-3-opus-20240229", "Anthropic"),
        ("Gemini 1.5 Pro", "Google"),
        ("Qwen-VL-Max", "Alibaba"),
        ("Midjourney v6", "Media generation"),
        ("images from SerpAPI", "Web search"),
    ],
)
def test_a_closed_service_is_recognised(text, provider):
    assert [m.name for m in paid_apis_in(text)] == [provider]
    assert paid_api(text).startswith(f"{provider} (")


@pytest.mark.parametrize(
    "text",
    [
        "gpt-oss-20b and gpt-oss-120b",
        "Gemma 2, CodeGemma and PaliGemma",
        "GPT-2, GPT-J and GPT-NeoX",
        "MiniGPT-4, Video-ChatGPT and GPT4All",
        "GPT4RoI",
        "Open-Sora",
        "Llama-3, Qwen2.5-7B, Mistral-7B, Mixtral and DeepSeek-V3",
        "Kimi K2 and GLM-4-9B",
        "Claude Shannon and Jean-Claude",
        "the o1 norm, an o3 term",
        "the Gemini Observatory",
        "ERNIE 4.5",
        "xGPT-4x",
        "",
    ],
)
def test_open_weights_and_look_alikes_are_no_closed_service(text):
    assert paid_api(text) is None


def test_mentions_come_in_order_and_do_not_overlap():
    found = paid_apis_in("Gemini 1.5 Pro beats GPT-4 Turbo and Claude 3 Opus")
    assert [m.name for m in found] == ["Google", "OpenAI", "Anthropic"]
    assert all(a.end <= b.start for a, b in pairwise(found))


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://www.kaggle.com/c/otto", "signup"),
        ("https://physionet.org/content/mimiciv/3.1/", "credentialed"),
        ("https://physionet.org/content/mimiciii", "credentialed"),
        ("https://pan.baidu.com/s/1abc", "extraction-code"),
        ("https://catalog.ldc.upenn.edu/LDC99T42", "paywall"),
        ("http://www.scan-net.org/", "request"),
    ],
)
def test_a_url_behind_a_wall_is_recognised(url, kind):
    assert wall_of(url).kind == kind


@pytest.mark.parametrize(
    "url",
    [
        "https://physionet.org/content/ptb-xl/1.0.3/",
        "https://physionet.org/content/mimiciii-demo/1.4/",
        "https://notkaggle.com/",
        "https://kaggle.com.evil.org/",
        "https://github.com/a/b",
        "https://drive.google.com/file/d/x",
        "not a url",
        "",
    ],
)
def test_what_serves_strangers_is_no_wall(url):
    assert wall_of(url) is None


def test_only_hosts_walled_as_a_whole_are_in_the_host_table():
    assert walls()["kaggle.com"] == "signup"
    assert "physionet.org" not in walls()
    assert len(walls()) < len(walled_places())


def test_every_entry_says_where_it_comes_from():
    assert all(p.source for p in providers())
    assert all(w.source for w in walled_places())


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=300))
def test_any_text_can_be_read(text):
    for mention in (*benchmarks_in(text), *paid_apis_in(text)):
        assert text[mention.start : mention.end] == mention.words


def test_a_long_paper_is_read_in_seconds():
    text = "We compare GPT-4 on CIFAR-10 with the adult humans of ImageNet and other words in prose. " * 3000
    benchmarks_in("warm up")
    start = time.perf_counter()
    assert len(benchmarks_in(text)) == 6000
    assert len(paid_apis_in(text)) == 3000
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize(
    ("prose", "other"),
    [
        ("Inputs are drawn from a GRF with length scale 0.1.", "We train on the GRF benchmark."),
        ("We match patients by PSM.", "On the PSM dataset we gain 3 points."),
        ("Kinetics of the reaction are slow.", "Pretrained on the Kinetics dataset."),
        ("Classifiers are fitted with LIBSVM.", "We use three LIBSVM datasets."),
        ("Levels of the GUE repel each other.", "We report the GUE benchmark."),
        ("Samples are scored by ImageReward.", "We finetune on the ImageReward dataset."),
    ],
)
def test_a_name_that_means_other_things_too_counts_only_where_it_is_called_data(prose, other):
    assert benchmarks_in(prose) == ()
    assert len(benchmarks_in(other)) == 1


def test_a_name_beside_its_shared_one_needs_no_such_word():
    assert [m.name for m in benchmarks_in("Pretrained on K400 and Google Research Football.")] == [
        "Kinetics-400",
        "Google Research Football",
    ]


def test_shared_names_are_names_of_their_entry():
    shared = {name: b for b in benchmarks() for name in b.shared}
    assert len(shared) >= 15
    assert all(benchmark(name) is b for name, b in shared.items())
    with pytest.raises(ValueError, match="none of its names"):
        benchmarks()[0].__class__(**{**benchmarks()[0].model_dump(), "shared": ("Nothing",)})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("WMT22", "WMT23"),
        ("FlyingThings3D", "FlyingChairs"),
        ("KuaiRec", "KuaiRand"),
        ("USPTO-50k", "USPTO-MIT"),
        ("Switchboard", "Fisher corpus"),
        ("BSD100", "BSD68"),
    ],
)
def test_different_data_sets_are_different_entries(one, other):
    assert benchmark(one).home != benchmark(other).home


@pytest.mark.parametrize("name", ["OpenWebText2", "Replogle"])
def test_a_name_that_only_resembles_a_listed_one_is_not_known(name):
    assert benchmark(name) is None


def test_no_home_behind_a_wall_is_called_open_and_every_home_may_be_opened():
    for b in benchmarks():
        wall = wall_of(b.home)
        assert wall is None or b.gate != "open", b.name
        assert refusal(b.home) is None, b.name
        assert not re.search(r"\s", b.home), b.name


def test_one_home_has_one_gate():
    gates: dict[str, set[str]] = {}
    for b in benchmarks():
        gates.setdefault(subject(b.home), set()).add(b.gate)
    assert not {home: found for home, found in gates.items() if len(found) > 1}


@pytest.mark.parametrize("url", ["https://forms.gle/x", "https://docs.google.com/forms/d/e/x/viewform"])
def test_a_form_to_fill_in_is_a_wall(url):
    assert wall_of(url).kind == "request"
    assert wall_of("https://docs.google.com/spreadsheets/d/x") is None


def test_walls_are_listed_once_and_inside_no_other():
    places = [(w.host, w.path) for w in walled_places()]
    assert len(places) == len(set(places))
    for wall in walled_places():
        assert wall_of(f"https://{wall.host}{wall.path or '/'}") == wall


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        ("https://competitions.codalab.org/competitions/1", "https://worksheets.codalab.org/bundles/0x1"),
        ("https://www.ncbi.nlm.nih.gov/gap/?term=x", "https://www.ncbi.nlm.nih.gov/geo/query/acc.cgi?acc=GSE1"),
        ("https://www.drivendata.org/competitions/1/", "https://drivendata.org/blog/x"),
        ("https://pan.xunlei.com/s/x", "https://xunlei.com/"),
    ],
)
def test_a_wall_goes_no_further_than_what_it_encloses(inside, outside):
    assert wall_of(inside) is not None
    assert wall_of(outside) is None

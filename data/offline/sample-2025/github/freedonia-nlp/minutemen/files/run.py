import argparse

from datasets import load_dataset
from openai import OpenAI

from minutemen.meeting import Meeting

client = OpenAI()


def ask(system, user, model="gpt-4o-2024-08-06"):
    r = client.chat.completions.create(model=model, temperature=0, messages=[{"role": "system", "content": system}, {"role": "user", "content": user}])
    return r.choices[0].message.content


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--protocol", default="minutes")
    p.add_argument("--split", default="test")
    a = p.parse_args()
    tasks = load_dataset("freedonia-nlp/committeebench", split=a.split)
    done = [Meeting(ask, a.protocol).solve(t["prompt"]) == t["answer"] for t in tasks]
    print(f"solved {100 * sum(done) / len(done):.1f} %")

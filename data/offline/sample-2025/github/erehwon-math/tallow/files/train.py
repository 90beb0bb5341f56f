import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

from tallow.core import collate, wrap

BASE = "Qwen/Qwen2.5-1.5B"


def main():
    tok = AutoTokenizer.from_pretrained(BASE)
    model = wrap(AutoModelForCausalLM.from_pretrained(BASE, torch_dtype=torch.bfloat16))
    args = TrainingArguments("out", per_device_train_batch_size=8, learning_rate=1e-5, num_train_epochs=2, bf16=True)
    Trainer(model, args, train_dataset=load_dataset("hendrycks/competition_math", split="train"), data_collator=collate(tok)).train()
    model.save_pretrained("out/final")


if __name__ == "__main__":
    main()

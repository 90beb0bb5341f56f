"""What the reader makes of small LaTeX sources."""

import pytest

from pipeline.paper import NoPaper, Paper, read


def paper(body: str, preamble: str = "", **files: str) -> Paper:
    main = f"\\documentclass{{article}}\n{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    return read(
        {
            "main.tex": main.encode(),
            **{k.replace("__", "/").replace("_tex", ".tex"): v.encode() for k, v in files.items()},
        }
    )


def urls(p: Paper, **wanted: object) -> list[str]:
    return [k.url for k in p.links if all(getattr(k, name) == value for name, value in wanted.items())]


def test_text_is_plain_and_offsets_point_into_it() -> None:
    p = paper("\\section{Method}\nWe use ``two'' nets---fast~ones.\n\nIt costs 5\\% of $10^{-3}$ s.")
    assert "## 1 Method" in p.text
    assert "We use “two” nets—fast ones." in p.text
    assert "It costs 5% of 10^-3 s." in p.text
    assert p.text[p.sections[0].start :].startswith("## 1 Method")
    where = p.find("It costs   5% of")
    assert where is not None
    assert p.text[where:].startswith("It costs 5%")
    assert p.find("not in there") is None


def test_title_authors_and_abstract_come_out_plain() -> None:
    p = paper(
        "\\maketitle\\begin{abstract}\nWe win by 3\\%.\n\\end{abstract}\nBody.",
        "\\newcommand{\\ours}{FooNet\\xspace}\\title{\\ours: A \\textbf{Net}\\thanks{Code: \\url{https://github.com/a/b}}}"
        "\\author{Ada Lovelace$^1$ \\and Alan Turing$^2$}",
    )
    assert p.title.startswith("FooNet: A Net")
    assert p.authors == ("Ada Lovelace", "Alan Turing")
    assert p.abstract == "We win by 3%."
    assert urls(p, place="thanks", visible=True) == ["https://github.com/a/b"]


@pytest.mark.parametrize(
    "words",
    [
        "\\keywords{boxes, frames}",
        "\\keywords boxes, frames",
        "\\begin{keywords}boxes, frames\\end{keywords}",
        "\\begin{IEEEkeywords}boxes, frames\\end{IEEEkeywords}",
    ],
)
def test_keywords_behind_an_abstract_are_no_part_of_its_last_sentence(words: str) -> None:
    p = paper(f"\\begin{{abstract}}We win by 3\\%. {words}\\end{{abstract}}Body.")
    assert [line for line in p.text.split("\n") if line][1:3] == ["We win by 3%. ", "Keywords: boxes, frames"]


def test_links_know_their_place_and_whether_the_pdf_shows_them() -> None:
    p = paper(
        "\\begin{abstract}Code: \\url{https://github.com/o/abstract}.\\end{abstract}\n"
        "See\\footnote{\\href{https://github.com/o/foot}{here}}. Bare https://github.com/o/bare\\_x, too.\n"
        "% old: \\url{https://github.com/o/comment}\n"
        "\\begin{comment}\nhttps://github.com/o/commentenv\n\\end{comment}\n"
        "\\iffalse \\url{https://github.com/o/iffalse} \\fi\n"
        "\\appendix\\section{More} At \\url{https://github.com/o/app}. \\used{}",
        "\\newcommand{\\unused}{\\url{https://github.com/o/unused}}\\newcommand{\\used}{\\url{https://github.com/o/used}}",
    )
    found = {k.url.rsplit("/", 1)[1]: (k.place, k.visible) for k in p.links}
    assert found == {
        "abstract": ("abstract", True),
        "foot": ("footnote", True),
        "bare_x": ("body", True),
        "comment": ("comment", False),
        "commentenv": ("comment", False),
        "iffalse": ("comment", False),
        "app": ("appendix", True),
        "used": ("appendix", True),
        "unused": ("unrendered", False),
    }
    for link in p.links:
        if link.visible:
            assert link.anchor.offset >= 0
            assert link.sentence


def test_a_macro_with_a_link_is_rendered_only_where_it_is_used() -> None:
    p = paper("Code at \\repo{x}.", "\\newcommand{\\repo}[1]{\\href{https://github.com/o/#1}{the repository}}")
    assert urls(p) == ["https://github.com/o/x"]
    assert p.links[0].visible
    assert p.links[0].visible_text == "the repository"
    assert "Code at the repository (https://github.com/o/x)." in p.text


@pytest.mark.parametrize(
    ("source", "url"),
    [
        ("\\url{https://a.org/x\\_y}.", "https://a.org/x_y"),
        ("\\url{https://a.org/x%20y#frag}", "https://a.org/x%20y#frag"),
        ("\\url{https://a.org/\n  x}", "https://a.org/x"),
        ("\\href{https://a.org/%\n x}{t}", "https://a.org/x"),
        ("\\url{https://a.org/{\\textasciitilde}me}", "https://a.org/~me"),
        ("\\url{https://a.org/\\~{}me/}", "https://a.org/~me/"),
        ("\\texttt{https://a.org/100\\%}", "https://a.org/100%"),
        ("(see https://a.org/x)", "https://a.org/x"),
        ("\\nolinkurl{github.com/o/r}", "https://github.com/o/r"),
    ],
)
def test_addresses_come_out_as_a_browser_takes_them(source: str, url: str) -> None:
    assert urls(paper(f"Look: {source}\n")) == [url]


def test_uncited_bibliography_entries_are_leads_and_cited_ones_are_shown() -> None:
    bib = "@misc{yes, author={Lee, Ann and Poe, Bo}, title={Tool}, year=2020, url={https://github.com/o/yes}}\n"
    bib += "@misc{no, title={Other}, url={https://github.com/o/no}}\n"
    main = b"\\documentclass{article}\\begin{document}See \\citep{yes} for code.\\bibliography{refs}\\end{document}"
    p = read({"main.tex": main, "refs.bib": bib.encode()})
    shown = {k.url: k for k in p.links}
    assert shown["https://github.com/o/yes"].visible
    assert shown["https://github.com/o/yes"].place == "bibliography"
    assert shown["https://github.com/o/yes"].cited_in == ("See (Lee and Poe, 2020) for code.",)
    assert not shown["https://github.com/o/no"].visible
    assert shown["https://github.com/o/yes"].anchor.file == "refs.bib"


def test_inputs_in_every_spelling_are_followed_and_missing_ones_noted() -> None:
    p = paper(
        "\\input{a}\\input b \\include{s/c}\\import{s/}{d}\\subimport{s/}{e}\\InputIfFileExists{f}{}{}\\input{gone}",
        a_tex="Alpha.",
        b_tex="Beta.",
        s__c_tex="Gamma.",
        s__d_tex="Delta.",
        s__e_tex="Epsilon.",
        f_tex="Zeta.",
    )
    for word in ("Alpha.", "Beta.", "Gamma.", "Delta.", "Epsilon.", "Zeta."):
        assert word in p.text
    assert any("gone" in w for w in p.warnings)


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret", "~/x", "|ls", "a/../../secret"])
def test_input_never_leaves_the_bundle(name: str) -> None:
    p = paper(f"Before. \\input{{{name}}} After.")
    assert any("leaves the bundle" in w for w in p.warnings)
    assert "After." in p.text


def test_conditionals_go_the_way_tex_would() -> None:
    p = paper(
        "\\ifdraft Draft.\\else Final.\\fi \\draftttrue \\iftrue Yes.\\else No.\\fi \\if0 Never.\\fi "
        "\\ifx\\a\\b Same.\\else Different.\\fi \\newif\\iflong\\longtrue\\iflong Long.\\fi",
        "\\newif\\ifdraft\\draftfalse\\def\\a{1}\\def\\b{2}",
    )
    for word in ("Final.", "Yes.", "Different.", "Long."):
        assert word in p.text
    for word in ("Draft.", "No.", "Never.", "Same."):
        assert word not in p.text


def test_macros_expand_with_optional_nested_and_delimited_arguments() -> None:
    p = paper(
        "\\hi{} \\hi[Bob] \\twice{\\twice{x}} \\pair(1,2) \\eg this \\argmin",
        "\\newcommand{\\hi}[1][Ann]{Hello #1.}\\newcommand{\\twice}[1]{<#1#1>}\\def\\pair(#1,#2){#1-and-#2}"
        "\\newcommand{\\eg}{e.g.,\\xspace}\\DeclareMathOperator*{\\argmin}{arg\\,min}",
    )
    assert "Hello Ann. Hello Bob." in p.text
    assert "<<xx><xx>>" in p.text
    assert "1-and-2" in p.text
    assert "e.g., this" in p.text
    assert "arg min" in p.text


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "utf-16"])
def test_any_encoding_is_read(encoding: str) -> None:
    source = "\\documentclass{article}\\begin{document}Caf\u00e9 na\u00efve.\\end{document}"
    assert "Caf\u00e9 na\u00efve." in read({"main.tex": source.encode(encoding)}).text


def test_accents_in_tex_become_letters() -> None:
    assert "T\u00fcbingen, Erd\u0151s, \u00c5, na\u00efve" in paper('T\\"ubingen, Erd\\H{o}s, \\AA, na\\"{\\i}ve').text


def test_the_main_file_is_found_among_decoys() -> None:
    body = (
        "\\title{Real Results}\\begin{abstract}We win.\\end{abstract}\\section{A}"
        + "text " * 3000
        + "\\bibliography{x}"
    )
    whole = "\\documentclass{article}\\begin{document}%s\\end{document}"
    files = {
        "paper.tex": (whole % body).encode(),
        "rebuttal.tex": (whole % "Dear reviewers").encode(),
        "template.tex": (whole % "\\title{Formatting Instructions For NeurIPS}" * 2).encode(),
        "._paper.tex": b"\x00\x05\x16\x07\xff\xfe",
        "fig/plot.tex": b"\\documentclass{standalone}\\begin{document}x\\end{document}",
    }
    assert read(files).main == "paper.tex"


def test_no_paper_says_why() -> None:
    with pytest.raises(NoPaper, match=r"no \.tex file"):
        read({"a.pdf": b"%PDF"})
    with pytest.raises(NoPaper, match="document class"):
        read({"a.tex": b"hello"})


def test_end_of_document_and_endinput_end_reading_but_links_after_them_are_leads() -> None:
    main = b"\\documentclass{article}\\begin{document}A.\\input{b}C.\\end{document}\n\\url{https://github.com/o/late}"
    p = read({"main.tex": main, "b.tex": b"B.\\endinput Hidden."})
    assert "B." in p.text
    assert "C." in p.text
    assert "Hidden" not in p.text
    assert [(k.place, k.visible) for k in p.links] == [("comment", False)]


def test_references_between_floats_and_text_are_resolved_and_listed() -> None:
    p = paper(
        "As Table~\\ref{tab:a} and Figure~\\ref{fig:b} show.\n\\begin{table}\\caption{Accuracy.}\\label{tab:a}"
        "\\begin{tabular}{lc}Model & Acc \\\\ \\hline A & 1.0 \\\\ B & 2.0\\end{tabular}\\end{table}"
        "\\begin{figure}\\includegraphics{x.png}\\caption{Curve.}\\label{fig:b}\\end{figure}"
        "\\appendix\\section{Extra}\\begin{table}\\begin{tabular}{cc}a & b\\end{tabular}\\caption{Words.}\\end{table}"
    )
    assert "As Table 1 and Figure 1 show." in p.text
    assert [(i.kind, i.number, i.label, i.caption, i.results, i.place) for i in p.inventory] == [
        ("table", "1", "tab:a", "Accuracy.", True, "body"),
        ("figure", "1", "fig:b", "Curve.", False, "body"),
        ("table", "2", "", "Words.", False, "appendix"),
    ]
    assert p.inventory[0].referred_from == ("As Table 1 and Figure 1 show.",)


def test_appendix_tables_are_numbered_as_the_author_redefined_them() -> None:
    p = paper(
        "\\appendix\\section{X}\\renewcommand{\\thetable}{\\thesection.\\arabic{table}}\\setcounter{table}{0}"
        "\\begin{table}\\caption{c}\\begin{tabular}{c}1\\end{tabular}\\end{table}"
    )
    assert [i.number for i in p.inventory] == ["A.1"]


def test_anchors_name_file_and_line() -> None:
    p = paper("\n\nFirst line.\n\\input{a}", a_tex="One.\n\nTwo https://github.com/o/r here.")
    link = p.links[0]
    assert (link.anchor.file, link.anchor.line) == ("a.tex", 3)
    assert p.text[link.anchor.offset :].startswith("https://github.com/o/r")
    sentence = next(s for s in p.sentences() if s.text.startswith("Two"))
    assert (sentence.anchor.file, sentence.anchor.line) == ("a.tex", 3)


def test_reading_twice_gives_the_same_paper() -> None:
    files = {
        "m.tex": b"\\documentclass{a}\\begin{document}A $x$ \\cite{k}\\end{document}",
        "b.bib": b"@misc{k, title={T}}",
    }
    assert read(files) == read(dict(reversed(files.items())))


def test_lengths_without_braces_print_nothing() -> None:
    text = paper("A\\vskip 0.1in\nB \\hskip -2pt plus 1pt C \\parindent=0pt D.").text
    assert text.split() == ["A", "B", "C", "D."]


def test_author_blocks_of_several_lines_give_names() -> None:
    p = paper(
        "x", "\\title{T}\\author{Ada Lovelace \\\\ University of London \\\\ a@b.org \\And Alan Turing \\\\ Cambridge}"
    )
    assert p.authors == ("Ada Lovelace", "Alan Turing")


def test_an_alias_of_a_heading_command_is_still_a_heading() -> None:
    p = paper("\\let\\oldsection\\section\\oldsection{Results} Text.")
    assert [s.title for s in p.sections] == ["Results"]


_ALONE = "\\documentclass[../main.tex]{subfiles}\n\\title{Not this}\n\\begin{document}\n%s\n\\end{document}\nnever"


def test_subfiles_are_read_whole_wherever_they_stand() -> None:
    p = paper(
        "Start. \\subfile{parts/one}\n\\subfile{parts/two}\n\\input{parts/three} End.",
        "\\title{This}",
        parts__one_tex=_ALONE % "One. \\subfile{inner}",
        parts__two_tex=_ALONE % "Two.",
        parts__three_tex=_ALONE % "Three.",
        parts__inner_tex=_ALONE % "Inner.",
    )
    assert p.title == "This"
    assert p.text.split("\n\n", 1)[1].split() == ["Start.", "One.", "Inner.", "Two.", "Three.", "End."]


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../secret", "~/secret", "|ls"])
def test_inputs_that_leave_the_bundle_are_recorded_and_ignored(name: str) -> None:
    p = paper(f"Before \\input{{{name}}} after.", secret_tex="SECRET")
    assert "SECRET" not in p.text
    assert "Before after." in p.text
    assert any("leaves the bundle" in w for w in p.warnings)


def _whole(title: str, words: str) -> bytes:
    body = " ".join(f"{words} {k % 7} {words[::-1]} goes {k} further." for k in range(60))
    return (
        f"\\documentclass{{article}}\\title{{{title}}}\\begin{{document}}"
        f"\\begin{{abstract}}We {words}.\\end{{abstract}}"
        f"\\section{{Introduction}} {body} \\bibliography{{r}}\\end{{document}}"
    ).encode()


def test_two_short_papers_that_share_nothing_are_two_papers() -> None:
    with pytest.raises(NoPaper, match="two whole papers"):
        read({"a.tex": _whole("Sorting Lanterns", "lamps burn"), "b.tex": _whole("Ferrying Goats", "boats cross")})


def test_a_second_version_of_a_paper_is_no_second_paper() -> None:
    renamed = _whole("Ordering Lights", "lamps burn")
    p = read({"a.tex": _whole("Sorting Lanterns", "lamps burn"), "b.tex": renamed})
    assert p.main in ("a.tex", "b.tex")


def test_a_letter_without_abstract_and_references_is_no_second_paper() -> None:
    letter = (
        b"\\documentclass{article}\\title{To the Editors}\\begin{document}"
        + b"Dear editors. " * 500
        + b"\\end{document}"
    )
    assert read({"a.tex": _whole("Sorting Lanterns", "lamps burn"), "b.tex": letter}).main == "a.tex"


def test_a_footnote_after_the_full_stop_belongs_to_its_sentence() -> None:
    p = paper("The code is public.\\footnote{See \\url{https://github.com/o/r}.} We train it.")
    assert [s.text for s in p.sentences()] == [
        "The code is public. [Footnote: See https://github.com/o/r.]",
        "We train it.",
    ]
    assert p.links[0].place == "footnote"
    assert p.links[0].sentence.startswith("The code is public.")

"""Every command the reader knows, in one table."""

from __future__ import annotations

from typing import Any

from pipeline.paper import bibliography as bib
from pipeline.paper import commands, definitions, floats, structure, symbols
from pipeline.paper.conditionals import skip_branch
from pipeline.paper.render import Handler
from pipeline.paper.tables import begin_tabular
from pipeline.paper.tokens import VERBATIM


def handlers() -> dict[str, Any]:
    """Every command the reader knows, fresh, so that one paper's definitions never reach the next."""
    return dict(_TABLE)


def _table() -> dict[str, Any]:
    t: dict[str, Any] = dict(symbols.SYMBOLS)
    t |= {name: commands.drop(pattern) if pattern else commands.nothing for name, pattern in symbols.SKIP.items()}
    t |= definitions.DEFINERS
    t |= dict.fromkeys(symbols.ACCENTS, commands.accented)
    groups: dict[Handler, str] = {
        definitions.newboolean: (
            "newboolean provideboolean setboolean newbool setbool newtoggle providetoggle settoggle toggletrue "
            "togglefalse booltrue boolfalse"
        ),
        definitions.branch: "ifthenelse ifbool iftoggle ifdef ifundef ifblank ifstrempty ifnotblank ifstrequal",
        definitions.newtheorem: "newtheorem newtheorem*",
        definitions.csname: "csname",
        definitions.input_file: (
            "input include subfile subfileinclude import subimport inputfrom subinputfrom includefrom subincludefrom "
            "InputIfFileExists @input"
        ),
        definitions.use_package: "usepackage RequirePackage",
        structure.heading: " ".join(f"{n} {n}*" for n in structure.LEVELS),
        structure.appendix: "appendix appendices beginsupplement begin{appendices} begin{appendix}",
        structure.begin_abstract: "begin{abstract}",
        structure.abstract: "abstract",
        structure.title: "title icmltitle title*",
        structure.author: "author",
        structure.icml_author: "icmlauthor",
        structure.thanks: "thanks blfootnote icmlcorrespondingauthor",
        structure.keywords: "keywords keyword kwords icmlkeywords",
        structure.footnote: "footnote footnotetext tablefootnote sidenote marginpar tnote footnotetext*",
        structure.label: "label",
        structure.ref: "ref eqref cref Cref autoref Autoref pageref nameref vref fullref cref* Cref* ref* labelcref",
        structure.cite: (
            "cite citep citet citealp citealt citeauthor citeyear citeyearpar Citep Citet Citealp parencite "
            "textcite autocite nocite "
            "fullcite footcite citep* citet* cite* citealp* citeauthor* shortcite newcite citeA shortciteA "
            "onlinecite Citet* textcite*"
        ),
        commands.item: "item",
        commands.newline: "\\ tabularnewline cr",
        commands.rule: (
            "midrule toprule bottomrule hline cmidrule cline hdashline cdashline specialrule Xhline addlinespace "
            "cmidrule* Midrule"
        ),
        commands.dimension: (
            "vskip hskip kern mskip raise lower parindent parskip baselineskip tabcolsep textwidth textheight "
            "columnsep topsep itemsep abovecaptionskip belowcaptionskip floatsep intextsep lineskip textfloatsep "
            "arrayrulewidth leftmargin fboxsep fboxrule linewidth columnwidth hsize vsize moveleft moveright "
            "oddsidemargin topmargin"
        ),
        commands.multicolumn: "multicolumn",
        commands.multirow: "multirow multirow*",
        commands.bold: "textbf bf bfseries mathbf bm boldsymbol pmb boldmath textbf*",
        commands.underline: "underline uline ul underbar",
        commands.text_in_math: "text mbox textrm textnormal textsf hbox intertext fbox",
        commands.math_open: "( [",
        commands.math_close: ") ]",
        commands.fraction: "frac dfrac tfrac nicefrac sfrac cfrac",
        commands.root: "sqrt",
        commands.raised: "textsuperscript textsubscript",
        commands.plus_minus: "pm textpm",
        commands.number: "num SI qty si unit numrange SIrange qtyrange numlist SIlist qtylist ang",
        commands.href_args: "href url nolinkurl burl path",
        commands.takes_first: "texorpdfstring",
        floats.caption: "caption caption* subcaption",
        floats.captionof: "captionof captionof*",
        floats.graphics: "includegraphics includegraphics*",
        structure.bibliography: "bibliography printbibliography",
        bib.bibitem: "bibitem",
        bib.begin_thebibliography: "begin{thebibliography}",
        structure.add_resource: "addbibresource addglobalbib",
        structure.setcounter: "setcounter addtocounter",
        structure.stepcounter: "stepcounter refstepcounter",
        structure.numberwithin: "numberwithin counterwithin counterwithin*",
        structure.begin_document: "begin{document}",
        structure.end_document: "end{document} bye",
        commands.drop("m"): "bibliographystyle newlabel comment hspace vspace hspace* vspace*",
        commands.nothing: (
            "protect centering small footnotesize scriptsize tiny normalsize large Large LARGE huge Huge noindent "
            "clearpage newpage itshape scshape ttfamily rmfamily sffamily upshape mdseries normalfont selectfont "
            "raggedright raggedleft maketitle displaystyle textstyle limits nolimits big Big bigg Bigg bigl bigr "
            "Bigl Bigr biggl biggr Biggl Biggr middle nonumber notag expandafter noexpand global long outer "
            "makeatletter makeatother begingroup endgroup bgroup egroup leavevmode fi tableofcontents unboldmath "
            "ignorespaces unskip null strut hfil sloppy flushbottom frenchspacing endcsname em it sl sc tt rm sf "
            "mathstrut smallskip medskip bigskip phantomsection relax"
        ),
    }
    for handler, names in groups.items():
        for name in names.split():
            if "@" not in name:
                t["\\" + name] = handler
    t["\\xspace"] = commands.xspace
    t["\\par"] = lambda r, token: r.paragraph()
    t["\\else"] = lambda r, token: skip_branch(r.tex, to_else=False)
    t["\\endinput"] = lambda r, token: r.tex.end_file()
    t["\\subfloat"] = t["\\subfigure"] = t["\\subtable"] = structure.subfloat
    t["\\newcolumntype"] = lambda r, token: (r.tex.argument(), r.tex.optional(), r.tex.argument())
    for name in symbols.TABULARS:
        t[f"\\begin{{{name}}}"] = begin_tabular
    for name, kind in symbols.FLOATS.items():
        if name not in symbols.TABULARS and kind:
            t[f"\\begin{{{name}}}"] = structure.begin_float
    for name in VERBATIM:
        t[f"\\begin{{{name}}}"] = t[f"\\begin{{{name}*}}"] = commands.skip_verbatim
    t["\x02open_float"], t["\x02close_float"], t["\x02own_table"] = (
        floats.open_float,
        floats.close_float,
        floats.own_table,
    )
    return t


_TABLE = _table()
# the paper's structure, and everything that prints commands.nothing: redefining these changes looks, not content
PROTECTED = symbols.PROTECTED | {name for name, action in _TABLE.items() if action is commands.nothing}

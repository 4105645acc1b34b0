import StrataExpressions

/// The manual page of the program, made from the tables of verbs and commands.
package enum ManualPage {
  /// `strata.1`, as roff.
  package static var program: String {
    var page = Roff(title: "STRATA", section: 1, subject: "Strata Manual")
    page.section("NAME")
    page.text("strata - look into embedded stores and their history")
    page.section("SYNOPSIS")
    page.synopsis(Verb.browse.synopsis)
    page.synopsis("strata VERB …")
    page.section("DESCRIPTION")
    page.text(
      """
      Strata opens stores of the CodableDatastore library, and folders that the original library of that name wrote, \
      shows datastores, indexes, records and history, edits records by hand, and shows migrations while they run. \
      Every change is staged first, reviewed, committed under a name, and can be taken back.
      """)
    page.text(Verb.browse.details)
    page.section("OPTIONS")
    page.options(of: Verb.browse)
    page.section("VERBS")
    page.text("Every verb does one thing without a terminal, prints its result and ends.")
    for verb in Verb.all { page.verb(verb) }
    page.section("KEYS AND COMMANDS")
    page.text("Every command can be typed after : by its name, and bound to other keys in the configuration.")
    for group in CommandGroup.allCases {
      page.subsection(group.rawValue)
      for entry in CommandTable.all where entry.group == group { page.command(entry) }
    }
    page.section("CONDITIONS")
    page.text(
      "--where, the filter of the browser and the where of :set take a condition. " + ConditionGrammar.introduction)
    for form in ConditionGrammar.forms { page.item(form.spelling, "\(form.meaning) \(form.example)") }
    page.section("COMMITS")
    page.text(
      """
      A commit is named by its number, as head, head~3, by a pin's name, or by a time: 2026-11-17, "2026-11-17 09:30", \
      Tuesday, yesterday, "2 hours ago" mean the newest commit not later.
      """)
    page.section("EXIT STATUS")
    for (status, meaning) in [
      ("0", "fine"), ("1", "failed, or not found"), ("2", "usage"), ("3", "damaged, or a newer format"),
      ("4", "locked by another process"),
    ] { page.item(status, meaning + ".") }
    page.section("ENVIRONMENT")
    for (name, meaning) in [
      ("VISUAL, EDITOR", "The editor for values and records."),
      ("STRATA_SSH", "The program that is run instead of ssh, with the host and the command."),
      ("NO_COLOR", "Anything but nothing: no colours."),
      ("XDG_CONFIG_HOME", "The folder of strata/config; ~/.config without it."),
      ("XDG_STATE_HOME", "The folder of columns, bookmarks and staged changes; ~/.local/state without it."),
      ("XDG_DATA_HOME", "The folder of the sample store; ~/.local/share without it."),
    ] { page.item(name, meaning) }
    page.section("SEE ALSO")
    page.text("strata(5)")
    return page.source
  }
}

/// Text in the language of manual pages.
struct Roff {
  private(set) var source: String

  init(title: String, section: Int, subject: String) {
    source = ".TH \(title) \(section) \"\" \"\" \"\(subject)\"\n"
  }

  mutating func section(_ title: String) { source += ".SH \(Self.escaped(title))\n" }

  mutating func subsection(_ title: String) { source += ".SS \(Self.escaped(title))\n" }

  mutating func text(_ text: String) { source += ".PP\n\(Self.escaped(text))\n" }

  mutating func synopsis(_ text: String) { source += ".PP\n.B \(Self.escaped(text))\n" }

  mutating func item(_ term: String, _ meaning: String) {
    source += ".TP\n.B \(Self.escaped(term))\n\(Self.escaped(meaning))\n"
  }

  mutating func options(of verb: Verb) {
    for option in verb.options {
      item(option.value.map { "\(option.name) \($0)" } ?? option.name, option.summary)
    }
  }

  mutating func verb(_ verb: Verb) {
    subsection(verb.name)
    synopsis(verb.synopsis)
    text([verb.summary, verb.details].filter { !$0.isEmpty }.joined(separator: " "))
    options(of: verb)
  }

  mutating func command(_ entry: CommandEntry) {
    let keys = entry.keys.map { $0.replacing(" ", with: "") }.joined(separator: ", ")
    let name = ":" + entry.name + (entry.argument.map { " \($0.placeholder)" } ?? "")
    item(keys.isEmpty ? name : "\(keys)  \(name)", entry.help.isEmpty ? entry.title : entry.help)
  }

  /// Text in which nothing is taken for a request or an escape.
  static func escaped(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let safe = line.replacing("\\", with: "\\e").replacing("-", with: "\\-")
      return safe.first == "." || safe.first == "'" ? "\\&" + safe : safe
    }.joined(separator: "\n")
  }
}

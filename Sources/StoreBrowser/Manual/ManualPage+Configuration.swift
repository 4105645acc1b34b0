extension ManualPage {
  /// `strata.5`, the config file, as roff.
  package static var configuration: String {
    var page = Roff(title: "STRATA", section: 5, subject: "Strata Manual")
    page.section("NAME")
    page.text("strata - the configuration of the store browser")
    page.section("DESCRIPTION")
    page.text(
      """
      $XDG_CONFIG_HOME/strata/config, or ~/.config/strata/config, holds lines of NAME = VALUE. Blank lines, lines that \
      begin with #, and what stands behind two spaces and a # are left out. A line that is not understood is reported with \
      its number and changes nothing; strata --print-config prints what is in force and where it comes from.
      """)
    page.section("SETTINGS")
    for entry in SettingEntry.all { page.item("\(entry.name) = \(entry.values)", entry.help) }
    page.section("COMMANDS AND THEIR KEYS")
    for entry in CommandTable.all {
      let keys = entry.keys.map { $0.replacing(" ", with: "") }.joined(separator: " ")
      page.item("bind \(entry.name) = \(keys)", entry.title)
    }
    page.section("SEE ALSO")
    page.text("strata(1)")
    return page.source
  }
}

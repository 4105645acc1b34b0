import Testing

@testable import StoreBrowser

@Suite("Manual pages and completions")
struct ManualTests {
  /// The terms of a page's items, with dashes as they are printed.
  private func terms(_ page: String) -> [String] {
    page.split(separator: "\n").filter { $0.hasPrefix(".B ") }
      .map { String($0.dropFirst(3)).replacing("\\-", with: "-").replacing("\\e", with: "\\") }
  }

  @Test("strata.1 has every command with its keys, every verb, and every option of each")
  func program() throws {
    let page = ManualPage.program
    let items = terms(page)
    for entry in CommandTable.all {
      let name = ":" + entry.name + (entry.argument.map { " \($0.placeholder)" } ?? "")
      let found = items.filter { $0 == name || $0.hasSuffix("  " + name) }
      #expect(found.count == 1, "\(name)")
      for key in entry.keys {
        #expect(found.first?.contains(key.replacing(" ", with: "")) == true, "\(key) of \(name)")
      }
    }
    for verb in Verb.all {
      #expect(items.contains(verb.synopsis), "\(verb.name)")
      let start = try #require(page.firstRange(of: "\n.SS \(verb.name.replacing("-", with: "\\-"))\n"))
      let rest = page[start.upperBound...]
      let chapter = rest[..<(rest.firstRange(of: "\n.S")?.lowerBound ?? rest.endIndex)]
      for option in verb.options {
        #expect(
          terms(String(chapter)).contains { $0.split(separator: " ").first == option.name[...] }, "\(option.name)")
      }
    }
    for option in Verb.browse.options {
      #expect(items.contains { $0.split(separator: " ").first == option.name[...] }, "\(option.name)")
    }
  }

  @Test("strata.5 has every command to be bound and every setting")
  func configuration() {
    let items = terms(ManualPage.configuration)
    for entry in CommandTable.all { #expect(items.contains { $0.hasPrefix("bind \(entry.name) =") }, "\(entry.name)") }
    for entry in SettingEntry.all { #expect(items.contains { $0.hasPrefix("\(entry.name) =") }, "\(entry.name)") }
  }

  @Test("the verb that a command names is one, so that what completes verbs completes commands")
  func verbs() {
    for entry in CommandTable.all {
      guard let verb = entry.verb else { continue }
      #expect(Verb.named(verb) != nil, "\(entry.name): \(verb)")
    }
  }

  @Test("each shell completes every verb, and every option of each", arguments: Completions.shells)
  func completions(shell: String) throws {
    let script = try #require(Completions.script(for: shell))
    let lines = script.split(separator: "\n").map(String.init)
    for verb in Verb.all {
      let options: String
      switch shell {
      case "bash":
        let words = try #require(lines.first { $0.contains("compgen -W") })
        #expect(words.split { " \"".contains($0) }.contains(verb.name[...]), "\(verb.name)")
        options = try #require(lines.first { $0.hasPrefix("    \(verb.name)) options=") }, "\(verb.name)")
      case "zsh":
        #expect(lines.contains { $0.hasPrefix("    '\(verb.name):") }, "\(verb.name)")
        options = try #require(lines.first { $0.hasPrefix("    \(verb.name)) _arguments") }, "\(verb.name)")
      default:
        #expect(lines.contains { $0.contains(" -n __fish_use_subcommand -a \(verb.name) ") }, "\(verb.name)")
        options = lines.filter { $0.contains("__fish_seen_subcommand_from \(verb.name)'") }.joined(separator: "\n")
      }
      for option in verb.options {
        let wanted = shell == "fish" ? " -l \(option.name.dropFirst(2)) " : option.name
        #expect((options + " ").contains(wanted), "\(verb.name) \(option.name)")
      }
    }
    // A name with spaces is one word.
    let names = script.split(separator: "compgen -f").dropLast()
    #expect(names.allSatisfy { $0.split(separator: "\n").suffix(2).joined().contains("IFS=$'\\n'") }, "\(script)")
    for option in Verb.browse.options {
      #expect(script.contains(shell == "fish" ? "-l \(option.name.dropFirst(2))" : option.name), "\(option.name)")
    }
  }
}

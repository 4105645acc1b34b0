import StrataCurses
import StrataModel
import StrataFoundation
import StrataEngine
import StoreBrowser

extension Program {
  /// `strata` without arguments: on a terminal a list to choose from, with a preview; otherwise the same list as lines.
  nonisolated(nonsending) static func chooseStore() async throws -> Int32 {
    let items = try storeItems()
    guard TerminalSession.hasTerminal else { return try listStores(items) }
    let configuration = BrowserConfiguration(storePath: "", environment: ["HOME", "XDG_CONFIG_HOME"].environment)
    guard let chosen = try await pick(items, configuration) else { return 0 }
    return try await dispatch(chosen.words)
  }

  @MainActor private static func pick(
    _ items: [PickerProgram.Item], _ configuration: BrowserConfiguration
  ) throws -> PickerProgram.Item? {
    let picker = PickerProgram(items, configuration: configuration, preview: preview)
    _ = try TerminalSession().run { picker }
    return picker.chosen
  }

  /// The stores and folders of this directory, those opened recently elsewhere, and the sample.
  private static func storeItems() throws -> [PickerProgram.Item] {
    let names = try FileManager.default.contentsOfDirectory(atPath: ".").sorted().filter(isStore)
    let here = FileManager.default.currentDirectoryPath
    let recent = (recentStores?.paths ?? []).filter { path in
      isStore(path) && !names.contains { "\(here)/\($0)" == path }
    }
    // A store with the name of a verb or an option is named by its path.
    return names.map { name in
      let isPlain = Verb.named(name) == nil && !name.hasPrefix("-")
      return .init(title: name, origin: "here", words: [isPlain ? name : "./\(name)"])
    }
      + recent.map { .init(title: $0, origin: "lately", words: [$0]) }
      + [.init(title: "demo", origin: "sample", words: ["demo"])]
  }

  private static func listStores(_ items: [PickerProgram.Item]) throws -> Int32 {
    let output = Output()
    if items[0].origin != "here" { try output.line("There is no store in this directory.") }
    for (place, item) in items.enumerated() {
      if item.origin == "lately", place == 0 || items[place - 1].origin == "here" { try output.line("Opened lately:") }
      try output.line("strata \(item.words[0].shellWord)")
    }
    try output.flush()
    return 0
  }

  /// Describes the contents of a store in a few lines.
  @Sendable private static func preview(_ item: PickerProgram.Item) -> [String] {
    guard item.origin != "sample" else {
      return ["The sample: cities and countries of the world, with a migration and a history to look at."]
    }
    do throws(ModelError) {
      let store = try openStore(item.words[0], readOnly: true)
      var lines: [String] = []
      if store.head.commit.rawValue > 0,
        let newest = try store.commits(from: store.head.commit, limit: 1, folded: true).first
      {
        lines.append("\(newest.number)  \(Clock.text(newest.date))  \(newest.action)")
      }
      lines += ["", "DATASTORES"]
      for datastore in try store.head.readableDatastores({ lines.append("⚠ \($0)") }) {
        let indexes = datastore.indexes.map(\.descriptor.name).joined(separator: ", ")
        lines.append(
          "\(datastore.descriptor.key)  \(counted(try datastore.count, "record"))\(indexes.isEmpty ? "" : "  by \(indexes)")"
        )
      }
      if let writer = store.writer {
        lines += ["", "\(writer.name) writes it now"]
      }
      return lines + store.openingReport
    } catch { return [error.description] }
  }

  /// The stores that were opened in the browser recently; nil if there is no home folder to keep the list in.
  static var recentStores: RecentStores? {
    RecentStores(environment: ["HOME", "XDG_STATE_HOME"].environment)
  }

  /// Whether a path seems to be a store or a folder of the original library.
  static func isStore(_ path: String) -> Bool {
    FileStore.exists(at: path, disk: SystemDisk()) || OriginalFolder.exists(at: path)
  }
}

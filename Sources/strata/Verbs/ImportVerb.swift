import StrataDocuments
import StrataModel
import StrataFoundation
import StrataEngine
import StoreBrowser

// The verbs that import documents: import, put.

extension VerbRun {
  func importFile() throws -> Int32 {
    let file = try required(2)
    var source = try TableSource(path: file, encoding: encoding())
    let path = try required(0)
    if arguments.has("--compress"), isServer(path) {
      throw ModelError.refused(reason: "values on a server are not compressed by strata; nothing was written")
    }
    let (files, store) = (newFiles(of: path), try importedStore(at: path))
    defer { if store.engine.commitCount == 0 { remove(files, of: store) } }
    let plan = try importPlan(&source, into: store)
    let report = try Importer(store, plan, progress: ProgressMeter("importing \(plan.datastore)").report)
      .run(&source, named: arguments.value("--name"))
    for note in source.notes { complain(note) }
    for rejection in report.rejections { complain(rejection.description) }
    if report.rejected > report.rejections.count {
      complain("and \(report.rejected - report.rejections.count) more rejected")
    }
    for column in source.columns { column.exceptions.map { complain($0.sentence(for: column.path)) } }
    for index in report.indexesWithoutValues {
      complain("index \(index.name): no document has a value at \(index.path)")
    }
    for repeated in report.repeats.prefix(20) { complain(repeated.description) }
    if report.repeats.count > 20 { complain("\(report.repeated) rows in all were replaced by later ones") }
    try print(report, columns: source.columns)
    if arguments.has("--compress"), report.commit != nil {
      try store.declareCompression(true, of: [plan.datastore])
      _ = try store.compact(.all, progress: ProgressMeter("compressing \(plan.datastore)").report)
    }
    if !report.losses.isEmpty, plan.existing == .replaced {
      complain(
        "\(file) has nothing for fields of the records that it would replace: \(report.lossText); --merge keeps them, "
          + "--replace removes them")
      return 1
    }
    let isEmpty = report.new + report.changed + report.unchanged + report.rejected == 0
    if isEmpty, !source.isEmpty { complain(source.emptiness) }
    return report.rejected == 0 && (!isEmpty || source.isEmpty) ? 0 : 1
  }

  /// The store to import into: created if there is none; a dry run uses memory if nothing is at the path.
  private func importedStore(at path: String) throws -> EngineStore {
    // A dry run leaves nothing on a server either, so the store must exist.
    guard arguments.has("--dry-run") else { return try madeStore(at: path) }
    if isServer(path) { return try ownStore(openServer(path, readOnly: false)) }
    if FileManager.default.fileExists(atPath: path) { return try madeStore(at: path) }
    return EngineStore.memory(program: "strata", author: currentUser())
  }

  private func importPlan(_ source: inout TableSource, into store: EngineStore) throws -> ImportPlan {
    let key = try required(1)
    let direct = arguments.values("--direct")
    var indexes: [ImportPlan.Index] = []
    for text in arguments.values("--index") {
      var index = try importIndex(text, &source, of: store.head.datastore(key)?.descriptor)
      if direct.contains(index.name) { index.storage = .direct }
      indexes.append(index)
    }
    if let unknown = direct.first(where: { name in !indexes.contains { $0.name == name } }) {
      throw UsageError("--direct \(unknown): there is no --index of that name", verb: arguments.verb)
    }
    let way = [("--new-only", ImportPlan.Existing.kept), ("--merge", .merged), ("--replace", .replacedWhole)]
      .first { arguments.has($0.0) }
    return ImportPlan(
      datastore: key, identifier: try identifier(&source, of: key, in: store), indexes: indexes,
      existing: way?.1 ?? .replaced, types: try columnTypes(&source), version: arguments.value("--version"),
      isDryRun: arguments.has("--dry-run"))
  }

  /// The field of the identifier: the named one, that of the datastore, or one whose name and values say so.
  private func identifier(
    _ source: inout TableSource, of key: String, in store: EngineStore
  ) throws -> DocumentPath {
    if let name = arguments.value("--id") { return try source.path(named: name) }
    if try store.head.datastore(key) != nil {
      if let path = try store.identifierField(of: key) { return path }
      throw UsageError("\(key) does not say which field is its identifier; --id names it", verb: arguments.verb)
    }
    let choice = try IdentifierChoice(&source, name: key, isLenient: true)
    let found = try source.versionedIdentifier() ?? choice.path
    guard let path = choice.isKeyed ? DocumentPath([.member(choice.keyName)]) : found else {
      // Reports why the file cannot be read, whatever the identifier would be.
      if !choice.hasDocuments { return DocumentPath([.member(choice.keyName)]) }
      let reason = choice.refusal ?? "no field tells the documents apart by its name and values"
      throw UsageError("\(reason); --id names the identifier", verb: arguments.verb)
    }
    complain("the identifier is \(path.shortText), by its name and values; --id names another field")
    return path
  }

  /// Returns the types given as `COLUMN=TYPE`; the option can be repeated.
  private func columnTypes(_ source: inout TableSource) throws -> [DocumentPath: CellType] {
    var types: [DocumentPath: CellType] = [:]
    for text in arguments.values("--type") {
      let parts = text.split(separator: "=").map(String.init)
      guard parts.count > 1, let type = CellType(named: parts[parts.count - 1]) else {
        throw UsageError(
          "--type is COLUMN=TYPE with text, integer, number, bool or json, not “\(text)”", verb: arguments.verb)
      }
      let path = try source.path(named: parts.dropLast().joined(separator: "="))
      guard source.columns.contains(where: { $0.path == path }) else {
        let reason = source.columns.isEmpty ? "JSON says what its values are" : "the file has no such column"
        throw UsageError("--type \(text): \(reason)", verb: arguments.verb)
      }
      types[path] = type
    }
    return types
  }

  /// Returns the encoding that `--encoding` names, or nil without it.
  func encoding() throws(UsageError) -> TextEncoding? {
    arguments.value("--encoding").flatMap(TextEncoding.init)
  }

  /// `NAME=FIELDPATH[:KIND]`. Without a kind it is that of the datastore's index of the name; a new one has many values if the field is a
  /// list.
  private func importIndex(
    _ text: String, _ source: inout TableSource, of descriptor: DatastoreDescriptor?
  ) throws -> ImportPlan.Index {
    let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
    guard parts.count == 2 else {
      throw UsageError("--index is NAME=FIELDPATH[:KIND], not “\(text)”", verb: arguments.verb)
    }
    var (path, kind) = (parts[1], descriptor?.index(parts[0])?.kind)
    if let colon = path.lastIndex(of: ":") {
      guard let named = IndexKind(rawValue: String(path[path.index(after: colon)...])), named != .primary else {
        let kinds = IndexKind.allCases.filter { $0 != .primary }.map(\.rawValue).joined(separator: ", ")
        throw UsageError("--index \(text): the kind is one of \(kinds)", verb: arguments.verb)
      }
      kind = named
      path = String(path[..<colon])
    }
    let field = try source.path(named: path)
    let newKind = try kind ?? (source.hasList(at: field) ? .manyToMany : .oneToMany)
    return ImportPlan.Index(name: parts[0], path: field, kind: newKind)
  }

  private func print(_ report: ImportReport, columns: [TableSource.Column]) throws {
    if isJSON {
      return try line([
        "commit": report.commit.map(Document.commit) ?? .null, "new": .count(report.new),
        "changed": .count(report.changed), "unchanged": .count(report.unchanged), "rejected": .count(report.rejected),
        "repeated": .count(report.repeated),
        "repeats": .array(report.repeats.map(Self.document)),
        "losses": .array(
          report.losses.map { ["path": .string($0.path.description), "records": .count($0.records)] }),
        "mixedColumns": .array(columns.compactMap(Self.document)),
      ])
    }
    for column in columns { try output.line("\(column.path): \(column.type)") }
    try printTypes(report.descriptor)
    var counts =
      "\(report.new) new, \(report.changed) changed, \(report.unchanged) unchanged, \(report.rejected) rejected"
    if report.repeated > 0 { counts += ", \(report.repeated) replaced by later rows" }
    let before = arguments.has("--dry-run") ? "dry run: " : ""
    try output.line(report.commit.map { "\($0)  \(counts)" } ?? "\(before)\(counts); nothing was written")
  }

  private static func document(_ repeated: ImportReport.Repeat) -> Document {
    [
      "identifier": repeated.identifier.value.document, "count": .count(repeated.count),
      "rows": .array(repeated.rows.map(Document.string)),
    ]
  }

  private static func document(_ column: TableSource.Column) -> Document? {
    guard let exceptions = column.exceptions else { return nil }
    return [
      "path": .string(column.path.description), "mostly": .string(exceptions.type.description),
      "cells": .count(exceptions.cells), "others": .count(exceptions.others),
      "first": .array(exceptions.first.map { ["place": .string($0.place), "text": .string($0.text)] }),
    ]
  }

  /// Prints the types of identifier and indexes, which are guessed from the documents if the datastore is new.
  private func printTypes(_ descriptor: DatastoreDescriptor) throws {
    let path = descriptor.identifierPath ?? ""
    try output.line("id \(path): \(descriptor.identifierType)")
    for index in descriptor.indexes {
      let storage = index.storage == .direct ? ", direct" : ""
      try output.line("index \(index.name) \(index.rule ?? ""): \(index.valueType), \(index.kind.rawValue)\(storage)")
    }
  }

  func put() throws {
    let own = try ownStore(editableStore())
    let key = try required(1)
    var source = try TableSource(path: arguments.operand(2) ?? "-", isKeyed: false, encoding: encoding())
    try own.setTypes(of: &source, to: key)
    var rows: [(document: Document, place: SourcePlace)] = []
    while let row = try source.next() {
      switch row.content {
      case .document(let document): rows.append((document, row.place))
      case .unreadable(let reason): throw ModelError.refused(reason: "\(row.place): \(reason)")
      }
    }
    for note in source.notes { complain(note) }
    if rows.isEmpty { throw ModelError.refused(reason: source.emptiness) }
    var repeats: [String] = []
    func changes() throws -> (changes: ChangeSet, name: String) {
      repeats = []
      let changes = try own.changes(
        putting: rows.map(\.document), from: rows.map(\.place), into: key, version: arguments.value("--version")
      ) { repeats.append($0) }
      let name =
        changes.count == 1
        ? "put \(key) \(changes.changes[0].identifier)" : "put \(changes.count) records into \(key)"
      return (changes, arguments.value("--name") ?? name)
    }
    defer { for sentence in repeats.prefix(20) { complain(sentence) } }
    if arguments.has("--inbox") {
      let (changes, name) = try changes()
      return try send(changes, named: name)
    }
    let commit: CommitNumber? = try onNewestState(of: own) {
      let (changes, name) = try changes()
      return changes.isEmpty ? nil : try own.commit(changes, named: name, options: EditOptions())
    }
    if let commit { return try printCommit(commit) }
    try tell(["commit": .null], or: "unchanged; nothing was written")
  }

  /// Runs code that reads the newest state, again if a compaction on the server has removed that state meanwhile.
  private func onNewestState<Value>(of store: EngineStore, _ body: () throws -> Value) throws -> Value {
    for _ in 0..<32 {
      let state = store.head.commit
      do {
        return try body()
      } catch ModelError.noSuchCommit where isServer(store.path) {
        guard try store.refresh().commit != state else { break }
      }
    }
    return try body()
  }
}

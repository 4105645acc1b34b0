package import StrataEngine

/// The result of a salvage.
package struct SalvageSummary: Sendable {
  package var savedCommits: UInt64
  package var mendedCommits: UInt64
  /// Records in the new store's head.
  package var records: UInt64
  /// A sentence for each thing that could not be saved, or only in part.
  package var losses: [String]
  /// A sentence for each repair that makes the saved records usable: descriptors, indexes.
  package var mendings: [String]

  /// Whether everything was saved.
  package var isComplete: Bool { losses.isEmpty }
}

extension EngineStore {
  /// Writes a new store at `newPath` from the readable parts of the one at `path`, which is only read. An index that does not agree with
  /// the saved records is rebuilt if its rule is known, and marked stale if only the app knows it.
  ///
  /// - Parameter progress: receives how much is done, and returns whether to continue. Records saved by then stay.
  /// - Throws: `ModelError` if nothing can be read, if `newPath` exists, or if the disk fails. Nothing is left at `newPath` then.
  package static func salvage(
    from path: String, to newPath: String, program: String, author: String, disk: any Disk = SystemDisk(),
    progress: WorkProgress? = nil
  ) throws(ModelError) -> SalvageSummary {
    var words = TreeWords(nil)
    var mendings: [String] = []
    let report = try onStorage {
      try FileStore.salvage(
        from: path, to: newPath, options: StoreOptions(program: program, author: author), disk: disk,
        progress: { progress?(Int(clamping: $0.done), Int(clamping: $0.total)) ?? true }
      ) { engine in
        let store = EngineStore(engine, path: newPath, program: program, keepsLock: true)
        mendings = store.guessDescriptors()
        words = TreeWords(store)
        mendings += store.mendIndexes()
      }
    }
    return SalvageSummary(
      savedCommits: report.savedCommits, mendedCommits: report.mendedCommits, records: report.records,
      losses: report.losses.map(words.sentence), mendings: mendings + report.notes)
  }

  /// Gives datastores with a lost descriptor a new one, so that their records can be read. Returns a sentence for each.
  private func guessDescriptors() -> [String] {
    var sentences: [String] = []
    let head = view(engine.head)
    for key in (try? head.datastoreKeys) ?? [] where (try? head.requiredDatastore(key)) == nil {
      do throws(ModelError) {
        sentences.append(try guessDescriptor(of: key))
      } catch {
        sentences.append("what \(key) is made of is lost with its descriptor: \(error)")
      }
    }
    return sentences
  }

  private func guessDescriptor(of key: String) throws(ModelError) -> String {
    var sentence = ""
    let info = CommitInfo(action: "describe \(key) again", flags: .maintenance)
    _ = try transact(info) { transaction in
      let found = try transaction.tree(.records(of: key)).map { try DescriptorGuess($0) }
      guard let descriptor = found?.descriptor(key: key) else { return }
      try DatastoreWriter.store(descriptor, in: transaction)
      let indexes = try transaction.trees().filter { $0.indexName?.datastore == key }
      for index in indexes { try transaction.dropTree(index) }
      sentence =
        "the descriptor of \(key) is lost, and one was made from its records: identifiers are \(descriptor.identifierType)"
        + (descriptor.identifierPath.map { " (\($0))" } ?? "")
        + (indexes.isEmpty
          ? ""
          : "; indexes that are gone with it: " + indexes.compactMap { $0.indexName?.index }.joined(separator: ", "))
    }
    return sentence
  }

  /// Makes indexes agree with the records, or marks them stale. Returns a sentence for each.
  private func mendIndexes() -> [String] {
    var sentences: [String] = []
    for key in (try? view(engine.head).datastoreKeys) ?? [] {
      do throws(ModelError) {
        for name in try disagreeingIndexes(of: key) { sentences.append(try mendIndex(name, of: key)) }
      } catch {
        sentences.append("the indexes of \(key) could not be compared with its records: \(error)")
      }
    }
    return sentences
  }

  private func disagreeingIndexes(of datastore: String) throws(ModelError) -> [String] {
    let report = try verifyModel(at: CommitNumber(engine.head.number), datastore: datastore)
    let wrong = Set(report.allFindings.filter { $0.severity == .wrong }.compactMap(\.index))
    let present = try view(engine.head).requiredDatastore(datastore).descriptor.indexes.map(\.name)
    return present.filter(wrong.contains)
  }

  private func mendIndex(_ name: String, of datastore: String) throws(ModelError) -> String {
    do throws(ModelError) {
      _ = try rebuildIndex(name, of: datastore, options: EditOptions(leavesFailuresOut: true))
      return "index \(name) of \(datastore) was rebuilt"
    } catch {
      try markStale(name, of: datastore)
      return "index \(name) of \(datastore) does not agree with its records and is stale until the app rebuilds it"
    }
  }

  private func markStale(_ name: String, of datastore: String) throws(ModelError) {
    _ = try transact(CommitInfo(action: "mark index \(name) of \(datastore) stale", flags: .maintenance)) {
      transaction in
      var descriptor = try baseView(of: transaction).requiredDatastore(datastore).descriptor
      descriptor.markStale([name])
      try DatastoreWriter.store(descriptor, in: transaction)
    }
  }
}

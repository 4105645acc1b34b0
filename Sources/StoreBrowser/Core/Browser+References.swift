import StrataModel
import StrataDocuments

/// The targets of fields, and the labels of records.
extension Browser {
  /// `:reference FIELD DATASTORE` if no index declares it; without a datastore it removes the reference.
  mutating func setReference(_ argument: String?) {
    let words = argument?.words ?? []
    guard let current = session.current, let field = words.first else {
      return session.warn("which field leads where? :reference FIELD DATASTORE")
    }
    guard let path = path(of: field) else { return }
    let key = path.withoutPositions
    if let declared = ReferenceFields(current.descriptor).target(of: path) {
      return session.warn("\(path.shortText) is declared to lead to \(declared)")
    }
    var references = session.remembered.references ?? [:]
    let target = words.dropFirst().joined(separator: " ").filter { $0 != "\"" }
    guard !target.isEmpty else {
      guard references[current.key]?.removeValue(forKey: key) != nil else {
        return session.warn("\(path.shortText) leads nowhere")
      }
      session.remember { $0.references = references }
      return session.say("\(path.shortText) leads nowhere any more")
    }
    let known = session.outline?.datastores.map(\.key) ?? []
    guard known.contains(target) else {
      return session.warn("there is no datastore \(target); there are \(known.joined(separator: ", "))")
    }
    references[current.key, default: [:]][key] = target
    session.remember { $0.references = references }
    session.say("\(path.shortText) leads to \(target), in this browser")
  }

  /// `:label FIELD`; without a field the browser chooses the label again.
  mutating func setLabel(_ argument: String?) {
    guard let current = session.current else { return }
    var labels = session.remembered.labels ?? [:]
    guard let field = argument?.trimmed, !field.isEmpty else {
      labels[current.key] = nil
      session.remember { $0.labels = labels }
      return session.say("records of \(current.key) are called by their name, title or first text")
    }
    guard let path = path(of: field) else { return }
    labels[current.key] = path.description
    session.remember { $0.labels = labels }
    session.say("records of \(current.key) are called by \(path.shortText)")
  }

  /// The path of a field that the records seen so far have. If none has it, warns and returns nil.
  private mutating func path(of field: String) -> DocumentPath? {
    guard let path = try? DocumentPath(named: field), case .member? = path.components.first else {
      session.warn("“\(field)” is not a field")
      return nil
    }
    if let derivation = table.source?.derivation(of: path) {
      session.warn("\(path.shortText) is not in the record: \(derivation)")
      return nil
    }
    guard record.document?[path] == nil, let unknown = table.unknownName(in: [path], session) else { return path }
    session.warn(unknown)
    return nil
  }
}

import StrataDocuments
import StrataModel
import StrataTerminal

/// The formats of columns.
extension TablePane {
  /// The minute, if a column shows how long ago its dates are.
  func drawingKey(_ session: Session) -> String {
    let formats = source.flatMap { session.remembered.columns[$0.datastore]?.formats }
    return formats?.values.contains(ValueFormat.relative.rawValue) == true ? session.time.clock(session.now) : ""
  }

  /// Returns a value in the format chosen for its column. A number that is too wide in that format is written unchanged.
  func formatted(
    _ value: ValueText, of column: TableColumn, width: Int, leadingTo target: ReferenceTarget?, _ session: Session
  ) -> ValueText {
    let value = value.visible(amongNumbers: column.isTrailing)
    if let target { return Self.text(value, leadingTo: target, session) }
    guard let datastore = source?.datastore, let formats = session.remembered.columns[datastore]?.formats,
      let path = path(of: column, session), let format = formats[path].flatMap(ValueFormat.init(rawValue:))
    else { return column.isSeparated ? value.separated(in: width) : value }
    if format == .thousands { return value.separated(from: 0, in: width) }
    let text = format.text(value, isASCII: session.theme.isASCII, time: session.time, now: session.now)
    return text.kind == .number && SafeText.width(text.text) > width ? value : text
  }

  /// Returns `JP → Japan`, or `→ Japan` for an entity, whose identifier has no meaning. A dangling reference is marked.
  private static func text(_ value: ValueText, leadingTo target: ReferenceTarget, _ session: Session) -> ValueText {
    var text = value
    let isEntity = session.outline?.datastore(target.datastore)?.descriptor.keepsEntities == true
    if let label = target.label {
      text.text = "\(isEntity ? "" : value.text + " ")\(session.theme.arrow) \(label)"
    } else if !target.isThere {
      text.text = "\(value.text) \(session.theme.problemSign)"
    }
    text.kind = .string
    return text
  }

  func path(of column: TableColumn, _ session: Session) -> String? {
    switch column.source {
    case .field(let path): path
    case .identifier: columns.identifierPath
    case .key: session.current?.index(source?.index)?.descriptor.documentPath?.description
    }
  }
}

extension Browser {
  /// `gf`: a menu, or a format by its name.
  mutating func chooseFormat(_ argument: String?) {
    guard let path = table.selectedPath(session) else { return session.warn("choose a column first") }
    if let argument, !argument.trimmed.isEmpty {
      guard let format = ValueFormat(rawValue: argument.trimmed) else {
        let names = ValueFormat.allCases.map(\.rawValue).joined(separator: ", ")
        return session.warn("“\(argument)” is not a format; there are \(names)")
      }
      if format == .label, !leadsSomewhere(path) {
        return session.warn("\(path) leads nowhere; :reference says where a field leads")
      }
      return setFormat(format, of: path)
    }
    let leads = leadsSomewhere(path)
    let items = ValueFormat.allCases.filter { $0 != .label || leads }.map { format in
      MenuOverlay.Item(title: format.rawValue, detail: format.title, choice: Intent { $0.setFormat(format, of: path) })
    }
    present(MenuOverlay(title: "Values of \(DocumentPath.title(of: path))", items: items))
  }

  private func leadsSomewhere(_ path: String) -> Bool {
    guard let descriptor = session.current?.descriptor, let path = try? DocumentPath(parsing: path) else {
      return false
    }
    return session.naming.fields(of: descriptor).target(of: path) != nil
  }

  mutating func setFormat(_ format: ValueFormat, of path: String) {
    guard let datastore = table.source?.datastore else { return }
    var choice = session.columnChoice(datastore)
    choice.formats = (choice.formats ?? [:]).merging([path: format.rawValue]) { $1 }
    session.arrange(choice, of: datastore)
    session.say("\(DocumentPath.title(of: path)): \(format.title)")
  }
}

extension ValueText {
  /// A number from `least` on with its whole part in groups of three digits, or scaled if there is no room for them.
  fileprivate func separated(from least: Double = 10_000, in width: Int) -> ValueText {
    guard kind == .number, let number = NumberText(text), abs(number.double) >= least else { return self }
    var result = self
    result.text = NumberFormat.exact(.number(number), in: width)
    return result
  }
}

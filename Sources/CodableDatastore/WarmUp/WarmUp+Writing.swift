import StrataModel
import StrataEngine

extension WarmUp {
  func write(
    _ plan: WarmUpPlan, _ gathered: inout Gathered, stored: DatastoreDescriptor,
    _ report: inout WarmUpReport<Format>
  ) async throws {
    var descriptor = stored
    scope.work?.forgetDatastores()
    let movesRecords = plan.rekeys || gathered.rewritten > 0
    var hasChanged = movesRecords || !plan.rebuilt.isEmpty || !plan.moved.isEmpty
    try requireGoingOn()
    try scope.step { transaction in
      let writer = core.makeWriter(in: transaction)
      for name in plan.dropped {
        try drop(.index(name, of: core.key), in: transaction)
        try writer.removeFromLeftOut(ofIndex: name)
      }
    }
    for name in plan.dropped { descriptor.setIndex(name, to: nil) }
    try scope.change { transaction in try core.moveRenamed(plan, &descriptor, in: transaction) }
    var conflicts: [UniquenessConflict] = []
    for (place, index) in core.indexes.enumerated() where plan.moved[place] == nil {
      var writer = IndexWriter(index.descriptor, of: core.key, order: index.order)
      let isEvaluated = plan.evaluated.contains(place)
      // Where no record had to be decoded, an index that older code evaluated is as it should be.
      let isKept =
        isEvaluated && !movesRecords
        ? try scope.step { transaction in
          try !gathered.isDecoded || writer.holdsExactly(&gathered.entries[place], in: transaction)
        } : !plan.rebuilt.contains(place) && !movesRecords
      if isKept, !isEvaluated {
        if plan.redescribes { descriptor.setIndex(index.name, to: kept(index, descriptor)) }
        continue
      }
      if !isKept {
        try requireGoingOn()
        await report.begin(WorkStep.writing(index.name), total: gathered.entries[place].count)
        try scope.step { transaction in
          try writer.create(in: transaction)
          try writer.fill(from: &gathered.entries[place], in: transaction)
        }
        await report.finishStep()
        hasChanged = true
      }
      gathered.entries[place] = EntrySorter()
      descriptor.setIndex(index.name, to: index.descriptor)
      conflicts += try scope.step { transaction in
        if isKept { try writer.touchDuplicates(in: transaction) }
        return try writer.duplicates(of: descriptor, in: transaction)
      }
    }
    if hasChanged {
      descriptor.version = core.coder.tag
      descriptor.versionIsString = VersionTag<Format>.isString
      descriptor.instanceType = core.declaration.instanceType
    }
    descriptor.identifierEncoding = core.identifiers.encoding
    descriptor.identifierType = core.declaration.identifierType
    try scope.step { transaction in
      try writeLeftOut(gathered, in: transaction)
      try transaction.setAttributes(try descriptor.bytes, of: core.recordsTree)
      if !conflicts.isEmpty { throw ModelError.notUnique(conflicts) }
    }
  }

  /// The descriptor of an index that only changes in what costs nothing.
  private func kept(_ index: IndexPlan<Format.Instance>, _ descriptor: DatastoreDescriptor) -> IndexDescriptor? {
    var existing = descriptor.index(index.name)
    existing?.isUnique = index.isUnique
    existing?.keyPathName = index.descriptor.keyPathName
    existing?.tiers = index.descriptor.tiers
    existing?.target = index.descriptor.target
    return existing
  }

  private func drop(_ name: TreeName, in transaction: any WriteTransaction) throws {
    if try transaction.tree(name) != nil { try transaction.dropTree(name) }
  }

  /// Says in the store which records are in no rebuilt index. Where all were looked at, that takes the place of what an
  /// earlier warm-up said.
  private func writeLeftOut(_ gathered: Gathered, in transaction: any WriteTransaction) throws {
    guard gathered.isDecoded else { return }
    try drop(.leftOut(of: core.key), in: transaction)
    let writer = core.makeWriter(in: transaction)
    for (key, reason) in gathered.leftOut { try writer.leaveOut(key, reason) }
  }
}

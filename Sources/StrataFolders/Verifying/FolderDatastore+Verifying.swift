import StrataDocuments
package import StrataModel

extension FolderDatastore {
  package func verify(index: String?, progress: WorkProgress?) throws(ModelError) -> DatastoreVerification {
    var result = DatastoreVerification(key: descriptor.key)
    let wanted = secondaryIndexes.filter { index == nil || $0.descriptor.name == index }
    var total = try count
    for index in wanted { total += try index.count }
    var done = 0
    func advance(by read: Int) throws(ModelError) {
      done += read
      if progress?(done, total) == false { throw .cancelled }
    }
    try advance(by: 0)
    var check = RecordCheck(self)
    try reading { () throws(FolderError) in try check.run() }
    result.records = check.count
    result.findings = check.findings.map(Finding.init)
    result.faultyRecords = try primaryIndex.entries.rowCount - check.count
    if result.faultyRecords > 0 {
      result.findings.append(
        Finding(
          severity: .wrong, datastore: descriptor.key,
          text: "\(counted(result.faultyRecords, "record")) cannot be read",
          advice: FolderFinding.backup))
    }
    try advance(by: check.count)
    for index in wanted {
      let agreement = try reading { () throws(FolderError) in try IndexAgreement(index, of: self) }
      result.indexes.append(agreement.verification)
      try advance(by: agreement.entryCount)
    }
    return result
  }
}

extension IndexAgreement {
  fileprivate var verification: IndexVerification {
    var rule: String?
    if case .field(let path) = source { rule = path.description }
    return IndexVerification(
      name: index.name, isStale: false, entries: entryCount,
      strays: faults.count(.danglingEntry) + faults.count(.repeatedEntry), missing: faults.count(.missingEntry),
      rule: rule, findings: findings.map(Finding.init))
  }
}

extension Finding {
  /// A finding in a folder; a note if only the original library has trouble with it.
  fileprivate init(_ finding: FolderFinding) {
    self.init(
      severity: finding.severity == .damage ? .wrong : .note, datastore: finding.datastore ?? "", index: finding.index,
      text: finding.message, advice: finding.remedy)
  }
}

// What the example app uses of Foundation's classes for extensions and lists, with the availability as published.
extension Date {
  public func addingTimeInterval(_ interval: TimeInterval) -> Date { fatalError() }
}

public struct IndexSet: Hashable, Sendable, Sequence {
  public func makeIterator() -> IndexingIterator<[Int]> { fatalError() }
}

public struct CocoaError: Error {
  public struct Code: Hashable, Sendable {
    public static var fileNoSuchFile: Code { fatalError() }
  }
  public init(_ code: Code) { fatalError() }
}

open class NSAttributedString: @unchecked Sendable {
  open var string: String { fatalError() }
}

open class NSExtensionItem {
  open var attributedContentText: NSAttributedString? { fatalError() }
}

open class NSExtensionContext {
  open var inputItems: [Any] { fatalError() }
  open func completeRequest(returningItems items: [Any]?, completionHandler: (@Sendable (Bool) -> Void)? = nil) {
    fatalError()
  }
  open func cancelRequest(withError error: any Error) { fatalError() }
}

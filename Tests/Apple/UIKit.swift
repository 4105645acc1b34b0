// What the example app's extension uses of UIKit.
import Foundation

@MainActor
open class UIViewController {
  public init() { fatalError() }
  open func viewDidLoad() { fatalError() }
  open var extensionContext: NSExtensionContext? { fatalError() }
}

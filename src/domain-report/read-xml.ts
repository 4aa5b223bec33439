import sax from 'sax'
import { ReportFault } from './domain-report.ts'

export interface XmlElement {
  /** Lower case, without the prefix of its name space. */
  name: string
  /** What stands in it directly. */
  text: string
  children: XmlElement[]
}

/** Reports are six levels deep, and have some 30 elements for a row. */
const [deepest, mostElements] = [32, 400_000]
const mostAttributes = 32
/** Between two pieces sax looks whether a name, an attribute or a document type has grown beyond 64 KB, and we at declarations. */
const pieceSize = 1_024
/** chars of `<!…` that is no comment and begins no CDATA section: for each further one sax searches all of them. */
const longestDeclaration = 1_024

/**
 * Parses XML that nobody has vouched for. Reports do not need attributes and name spaces. A document type is refused, so there are no
 * entities but the five of XML.
 * @throws ReportFault if it is not well-formed, or exceeds the limits of depth and size
 */
export function readXml(text: string): XmlElement {
  // The types of sax do not know `strictEntities`.
  const options = { strictEntities: true, trim: false }
  const parser = sax.parser(true, options)
  const root: XmlElement = { name: '', text: '', children: [] }
  const open: XmlElement[] = [root]
  let elements = 0
  let attributes = 0
  parser.onerror = (error) => {
    throw new ReportFault(`The XML is not well-formed: ${error.message.split('\n')[0]}.`)
  }
  parser.ondoctype = () => {
    throw new ReportFault('The XML has a document type, which no report needs.')
  }
  parser.onopentagstart = ({ name }) => {
    if (open.length > deepest) throw new ReportFault(`The XML is nested more than ${deepest} levels deep.`)
    if (++elements > mostElements) throw new ReportFault(`The XML has more than ${mostElements} elements.`)
    attributes = 0
    const element: XmlElement = { name: name.slice(name.indexOf(':') + 1).toLowerCase(), text: '', children: [] }
    open.at(-1)?.children.push(element)
    open.push(element)
  }
  parser.onattribute = () => {
    if (++attributes > mostAttributes) throw new ReportFault(`An element has more than ${mostAttributes} attributes.`)
  }
  const addText = (found: string): void => {
    const element = open.at(-1)
    if (element) element.text += found
  }
  parser.ontext = addText
  parser.oncdata = addText
  parser.onclosetag = () => void open.pop()
  for (let at = 0; at < text.length; at += pieceSize) {
    parser.write(text.slice(at, at + pieceSize))
    // Its types do not know `sgmlDecl` either.
    const { sgmlDecl } = parser as unknown as { sgmlDecl: string }
    if (sgmlDecl.length > longestDeclaration) throw new ReportFault('The XML has a declaration, which no report needs.')
  }
  parser.close()
  const [first] = root.children
  if (!first) throw new ReportFault('The XML has no element.')
  return first
}

/** Those of the children that have this name. */
export const childrenOf = (element: XmlElement | undefined, name: string): XmlElement[] =>
  element?.children.filter((child) => child.name === name) ?? []

/** What stands in the first element at the end of the path; undefined where there is none. */
export function textAt(element: XmlElement | undefined, ...path: string[]): string | undefined {
  const found = path.reduce<XmlElement | undefined>((at, name) => at?.children.find((child) => child.name === name), element)
  return found?.text.trim()
}

import sax from 'sax'
import { ReportFault } from './domain-report.ts'

export interface XmlElement {
  /** Lower case, without the namespace prefix. */
  name: string
  /** The text directly inside the element. */
  text: string
  children: XmlElement[]
}

/** Reports are six levels deep, and have some 30 elements per row. */
const [deepest, maxElements] = [32, 400_000]
const maxAttributes = 32
/** Input is fed in pieces. In between, sax checks whether a name, attribute or document type exceeds 64 KB, and we check declarations. */
const pieceSize = 1_024
/** Characters of a `<!…` that is neither a comment nor CDATA. For each further one, sax searches all of them again. */
const maxDeclarationLength = 1_024

/**
 * Parses untrusted XML. Ignores attributes and namespaces, which reports do not need. Refuses document types, so
 * there are no entities but the five of XML.
 * @throws ReportFault if the XML is not well-formed, or exceeds the limits of depth and size
 */
export function readXml(text: string): XmlElement {
  // The types of sax lack `strictEntities`.
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
    if (++elements > maxElements) throw new ReportFault(`The XML has more than ${maxElements} elements.`)
    attributes = 0
    const element: XmlElement = { name: name.slice(name.indexOf(':') + 1).toLowerCase(), text: '', children: [] }
    open.at(-1)?.children.push(element)
    open.push(element)
  }
  parser.onattribute = () => {
    if (++attributes > maxAttributes) throw new ReportFault(`An element has more than ${maxAttributes} attributes.`)
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
    // The types of sax lack `sgmlDecl`, too.
    const { sgmlDecl } = parser as unknown as { sgmlDecl: string }
    if (sgmlDecl.length > maxDeclarationLength) throw new ReportFault('The XML has a declaration, which no report needs.')
  }
  parser.close()
  const [first] = root.children
  if (!first) throw new ReportFault('The XML has no root element.')
  return first
}

/** The child elements with this name. */
export const childrenOf = (element: XmlElement | undefined, name: string): XmlElement[] =>
  element?.children.filter((child) => child.name === name) ?? []

/** The text of the first element at the end of the path; undefined if there is none. */
export function textAt(element: XmlElement | undefined, ...path: string[]): string | undefined {
  const found = path.reduce<XmlElement | undefined>((at, name) => at?.children.find((child) => child.name === name), element)
  return found?.text.trim()
}

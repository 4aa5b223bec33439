import { parseTemplate, type Insertion } from './parse-template.ts'
import type { DeclaredVariable, WrittenTemplate } from './template-content.ts'

/** A version of a template whose layout and partials are to be put into their places, parsed. */
export interface TemplateSource {
  /** Of the template, `tpl_…` */
  id: string
  versionId: string
  html: SourcePart
  /** Null: made from the html. */
  text: SourcePart | null
  layout: string | null
  variables: DeclaredVariable[]
}

/** Html or text as its owner wrote it. */
export interface SourcePart {
  text: string
  insertions: Insertion[]
  /** Where a line break at its very end begins: it belongs to the file, and is left out where the part is inserted. */
  end: number
}

/** What of a template concerns what it is put together of. */
export type WrittenParts = Pick<WrittenTemplate, 'html' | 'text' | 'layout' | 'variables'>

/** The source of a version that was checked when it was saved. */
export const templateSource = (written: { id: string; versionId: string } & WrittenParts): TemplateSource => ({
  id: written.id,
  versionId: written.versionId,
  html: sourcePart(written.html),
  text: written.text === null ? null : sourcePart(written.text),
  layout: written.layout,
  variables: written.variables,
})

function sourcePart(text: string): SourcePart {
  const parsed = parseTemplate(text)
  if (!parsed.ok) throw new Error(`a saved template cannot be read at line ${parsed.line}: ${parsed.fault}`)
  const end = text.length - (text.endsWith('\r\n') ? 2 : text.endsWith('\n') ? 1 : 0)
  return { text, insertions: parsed.insertions, end }
}

/** The templates that a source names as partials. */
export const partialsOf = ({ html, text }: TemplateSource): string[] =>
  [...html.insertions, ...(text?.insertions ?? [])].flatMap(({ name }) => (name === null ? [] : [name]))

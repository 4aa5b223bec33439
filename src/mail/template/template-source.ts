import { parseTemplate, type Insertion } from './parse-template.ts'
import type { DeclaredVariable, WrittenTemplate } from './template-content.ts'

/** A parsed version of a template, before its layout and partials are inserted. */
export interface TemplateSource {
  /** The id of the template, `tpl_…` */
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
  /** Where a trailing line break begins: it belongs to the file, and is left out when the part is inserted. */
  end: number
}

/** The members of a template that decide what it is composed of. */
export type WrittenParts = Pick<WrittenTemplate, 'html' | 'text' | 'layout' | 'variables'>

/** A version of a template as its owner wrote it; ids are empty for one that is not saved. */
export type WrittenSource = { id: string; versionId: string } & WrittenParts

/** The source of a version that was checked when it was saved. */
export const templateSource = (written: WrittenSource): TemplateSource => ({
  id: written.id,
  versionId: written.versionId,
  html: sourcePart(written.html),
  text: written.text === null ? null : sourcePart(written.text),
  layout: written.layout,
  variables: written.variables,
})

function sourcePart(text: string): SourcePart {
  const parsed = parseTemplate(text)
  if (!parsed.ok) throw new Error(`a saved template has a syntax error at line ${parsed.line}: ${parsed.fault}`)
  const end = text.length - (text.endsWith('\r\n') ? 2 : text.endsWith('\n') ? 1 : 0)
  return { text, insertions: parsed.insertions, end }
}

/** The templates that a source uses as partials. */
export const partialsOf = ({ html, text }: TemplateSource): string[] =>
  [...html.insertions, ...(text?.insertions ?? [])].flatMap(({ name }) => (name === null ? [] : [name]))

import { parseTemplate } from '../../mail/template/parse-template.ts'
import type { Values } from './set-up-object.ts'

/** The names of the layout and the partials that a template with these values uses; none from a part with a syntax error. */
export function usedBy({ html, text, layout }: Values): string[] {
  const insertions = [html, text].flatMap((part) => {
    const parsed = typeof part === 'string' ? parseTemplate(part) : null
    return parsed?.ok ? parsed.insertions : []
  })
  const partials = insertions.flatMap(({ name }) => (name === null ? [] : [name]))
  return typeof layout === 'string' ? [layout, ...partials] : partials
}

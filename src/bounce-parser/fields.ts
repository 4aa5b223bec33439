import type { HeaderField } from './returned-message.ts'

const field = /^([a-z][\w-]{1,75})[ \t]{0,8}:(.*)$/i

/** Lines of one header or status; more are the work of somebody who wants to keep us busy. */
const mostLines = 10_000
/** Characters of a value, about. */
const longestValue = 4000

/**
 * The fields in a text. A line that begins none belongs to the one before, folded or not: many systems break a long reply without
 * folding it.
 * @param begins whether a field of this name, in lower case, may begin behind the one before
 */
export function fieldsIn(text: string, begins: (name: string, before: string | undefined) => boolean = () => true): HeaderField[] {
  const fields: HeaderField[] = []
  for (const line of text.split('\n', mostLines)) {
    const last = fields.at(-1)
    const [, name = '', value = ''] = field.exec(line) ?? []
    if (name !== '' && begins(name.toLowerCase(), last?.name)) fields.push({ name: name.toLowerCase(), value: value.trim() })
    else if (last && last.value.length < longestValue) last.value = `${last.value} ${line.trim()}`.trim()
  }
  return fields
}

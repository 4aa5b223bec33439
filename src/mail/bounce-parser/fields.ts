import type { HeaderField } from './returned-message.ts'

const field = /^([a-z][\w-]{1,75})[ \t]{0,8}:(.*)$/i

/** Bounds the lines of one header or status. More are an attack. */
const maxLines = 10_000
/** Characters of a value, roughly. */
const maxValueLength = 4000

/**
 * Parses the fields in a text. A line that starts no field continues the one before, folded or not, because many
 * systems break long replies without folding.
 * @param begins whether a field of this name (lower case) may follow the one before
 */
export function fieldsIn(text: string, begins: (name: string, before: string | undefined) => boolean = () => true): HeaderField[] {
  const fields: HeaderField[] = []
  for (const line of text.split('\n', maxLines)) {
    const last = fields.at(-1)
    const [, name = '', value = ''] = field.exec(line) ?? []
    if (name !== '' && begins(name.toLowerCase(), last?.name)) fields.push({ name: name.toLowerCase(), value: value.trim() })
    else if (last && last.value.length < maxValueLength) last.value = `${last.value} ${line.trim()}`.trim()
  }
  return fields
}

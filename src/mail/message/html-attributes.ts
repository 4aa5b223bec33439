import { decodeAttribute } from './html-entities.ts'
import type { Tag } from './html-tags.ts'

const attribute = /([^\s=>"'/]{1,64})\s{0,16}(?:=\s{0,16}(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?/g

/** The attributes of a tag, decoded; the first of a name counts. */
export function attributesOf({ attributes }: Pick<Tag, 'attributes'>): Map<string, string> {
  const found = new Map<string, string>()
  attribute.lastIndex = 0
  for (let match = attribute.exec(attributes); match; match = attribute.exec(attributes)) {
    const name = (match[1] ?? '').toLowerCase()
    if (!found.has(name)) found.set(name, decodeAttribute(match[2] ?? match[3] ?? match[4] ?? ''))
  }
  return found
}

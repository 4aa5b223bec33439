import { decodeAttribute } from './html-entities.ts'
import type { Tag } from './html-tags.ts'

const attribute = /([^\s=>"'/]{1,64})\s{0,16}(?:=\s{0,16}(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?/g

/** The attributes of a tag, decoded; the first of a name counts. */
export function attributesOf({ attributes }: Pick<Tag, 'attributes'>): Map<string, string> {
  const found = new Map<string, string>()
  for (const [, key = '', double, single, bare] of attributes.matchAll(attribute)) {
    const name = key.toLowerCase()
    if (!found.has(name)) found.set(name, decodeAttribute(double ?? single ?? bare ?? ''))
  }
  return found
}

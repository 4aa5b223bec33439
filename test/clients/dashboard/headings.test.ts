import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { de } from '../../../src/clients/dashboard/texts/de.ts'
import { en } from '../../../src/clients/dashboard/texts/en.ts'

const pages = join(import.meta.dirname, '../../../src/clients/dashboard/pages')
const lists = ['domains', 'emails', 'keys', 'reports', 'settings', 'suppressions', 'templates', 'webhooks'] as const

test.each(lists)('the page behind “%s” is headed with the word of the menu', (name) => {
  expect(readFileSync(join(pages, `${name}.tsx`), 'utf8')).toContain(`heading={t.nav.${name}}`)
})

test('no text has the words that users took for something else', () => {
  const words = [en, de].map((texts) => JSON.stringify(texts, (_, value) => (typeof value === 'function' ? String(value) : value)))
  expect(words.join('')).not.toMatch(
    /Where is my mail|Whom you|Who takes it|Webhooks told|What can get in|Lies with|Way back|Came by|Wo ist meine|Wem Sie|Wer sie annimmt|Liegt bei|Kam über/,
  )
})

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../../../src/clients/dashboard')
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }))

test('nothing of a stranger is ever made into HTML', () => {
  const found = sources.filter(({ text }) =>
    /dangerouslySetInnerHTML|\b(?:inner|outer)HTML\b|srcdoc|insertAdjacentHTML|document\.write/i.test(text),
  )
  expect(found.map(({ name }) => name)).toEqual([])
})

test('all words are in texts/, for translation', () => {
  const words = sources
    .filter(({ name }) => name.endsWith('.tsx'))
    .flatMap(({ name, text }) =>
      Array.from(text.matchAll(/>\s*([A-Z][a-z]+(?: [a-z]+)*)\s*</g), ([, word = '']) => `${name}: ${word}`).filter(
        (found) => !/: (?:Sterna|Promise)$/.test(found),
      ),
    )
  expect(words).toEqual([])
})

test('every file is used, so every page has a path', () => {
  const imported = new Set(
    sources.flatMap(({ name, text }) =>
      Array.from(text.matchAll(/(?:from |import\(|import )'(\.[^']+)'/g), ([, path = '']) => join(dirname(name), path)),
    ),
  )
  // `main.tsx` is what a browser loads.
  expect(sources.map(({ name }) => name).filter((name) => !imported.has(name))).toEqual(['main.tsx'])
})

/** What the server and the dashboard both show, declared once, in files that a browser can run. */
const declarations = [
  'mail/event/event-type.ts',
  'mail/message/email-status.ts',
  'notify/webhook/delivery-state.ts',
  'notify/webhook/payload-kind.ts',
  'platform/config/duration.ts',
  'senders/account/account-policy.ts',
  'senders/account/policy.ts',
]

test('it imports nothing of the server but types and declarations', () => {
  const src = join(root, '../..')
  const imported = sources.flatMap(({ name, text }) =>
    Array.from(text.matchAll(/^import (?!type\b)[^']*?from '(\.[^']+)'/gm), ([, path = '']) =>
      join(dirname(join(root, name)), path),
    ).filter((file) => !file.startsWith(root)),
  )
  expect([...new Set(imported)].map((file) => relative(src, file)).toSorted()).toEqual(declarations)
})

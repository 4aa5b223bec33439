import { readFileSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const folder = resolve(import.meta.dirname, '../../../src/mail/bounce-parser')
/** Without types, of which nothing is left at run time. */
const imported = readdirSync(folder)
  .filter((name) => name.endsWith('.ts'))
  .flatMap((name) =>
    Array.from(
      readFileSync(join(folder, name), 'utf8').matchAll(/^(?:import(?! type)|}) .*from '([^']+)'$/gm),
      ([, target = '']) => target,
    ),
  )

test('the parser imports only pure functions from elsewhere', () => {
  const elsewhere = new Set(imported.filter((target) => !target.startsWith('./')))
  expect([...elsewhere].sort()).toEqual([
    '../../platform/json-values.ts',
    '../../platform/smtp/address.ts',
    '../../platform/smtp/encoded-word.ts',
    '../message/mime-leaves.ts',
    '../message/repaired-mail.ts',
    '../message/text-from-html.ts',
    'node:buffer',
  ])
})

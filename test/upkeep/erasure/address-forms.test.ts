import { expect, test } from 'vitest'
import { addressForms } from '../../../src/upkeep/erasure/address-forms.ts'
import { parseAddress } from '../../../src/platform/smtp/address.ts'

function formsOf(text: string) {
  const parsed = parseAddress(text)
  if (!parsed.ok) throw new Error(parsed.fault)
  return addressForms(parsed)
}

/** As `like` of SQLite and PostgreSQL on a text in lower case. */
const isLike = (text: string, pattern: string): boolean =>
  new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('%', '.*')}$`, 's').test(
    text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()),
  )

const ann = 'Ann.O+x@rcpt.example'

test.each([
  ['ann.o+x@rcpt.example', 'E'],
  ['ANN.O+X@RCPT.EXAMPLE', 'E'],
  ['"Ann O" <Ann.O+x@rcpt.example>, bob@rcpt.example', '"Ann O" <E>, bob@rcpt.example'],
  ['Dear ann.o+x@rcpt.example.', 'Dear E.'],
  ['{"to":"ann.o+x@rcpt.example","n":1}', '{"to":"E","n":1}'],
  ['rfc822;ann.o+2Bx@rcpt.example', 'rfc822;E'],
  ['https://a.example/?to=ann.o%2Bx%40rcpt.example&n=1', 'https://a.example/?to=E&n=1'],
  ['mailto%3Aann.o%2Bx%40rcpt.example', 'mailto%3AE'],
  ['bounce-ann.o+x=rcpt.example@sender.example', 'bounce-E@sender.example'],
  ['ann.o+x=40rcpt.example', 'E'],
])('%s names it', (text, without) => {
  const forms = formsOf(ann)
  expect(forms.names(text)).toBe(true)
  expect(forms.without(text, 'E')).toBe(without)
  expect(isLike(text, forms.pattern)).toBe(true)
})

test.each([
  'joann.o+x@rcpt.example',
  'x-ann.o+x@rcpt.example',
  'ann.o+x@rcpt.example.org',
  'ann.o+x@rcpt.examples',
  'ann.o@rcpt.example',
  'ann.o+x at rcpt.example',
])('%s does not', (text) => {
  expect(formsOf(ann).names(text)).toBe(false)
  expect(formsOf(ann).without(text, 'E')).toBe(text)
})

test('finds a non-ASCII domain as A-labels and as letters, and a quoted local part as in JSON', () => {
  const forms = formsOf('jürgen@bücher.example')
  for (const text of ['jürgen@xn--bcher-kva.example', 'jürgen@bücher.example']) {
    expect(forms.names(`<${text}>`)).toBe(true)
    expect(isLike(`<${text}>`, forms.pattern)).toBe(true)
  }
  const quoted = formsOf('"a..b"@rcpt.example')
  const json = JSON.stringify({ to: '"a..b"@rcpt.example' })
  expect(quoted.without(json, 'E')).toBe('{"to":"E"}')
  expect(isLike(json, quoted.pattern)).toBe(true)
})

import { expect, test } from 'vitest'
import { looksBlank } from '../../../src/clients/dashboard/looks-blank.ts'

test.each([
  ['', true],
  ['<p> &nbsp;\u200b</p>', true],
  ['<html><head><title>Hello</title></head><body></body></html>', true],
  ['<style>p { color: red }</style><!-- words --><div></div>', true],
  ['<img src="https://outside.example/all.png" alt="">', true],
  ['<p>Hello</p>', false],
  ['<style>p { color: red }</style>Hello', false],
  ['<img src="data:image/png;base64,AAAA">', false],
  ['<img alt="" src=cid:logo>', false],
  ['<header>Hello</header>', false],
])('%j shows nothing: %s', (html, isBlank) => expect(looksBlank(html)).toBe(isBlank))

test('a mail that is made to be slow to read is not', () => {
  for (const part of ['<', '<!--', '<style', '<style></style', '<img src', '&nbsp', ' ']) looksBlank(part.repeat(400_000 / part.length))
})

import { expect, test } from 'vitest'
import { addressesIn, readCsv } from '../../../src/clients/dashboard/read-csv.ts'

const cellsOf = (text: string): string[][] => readCsv(text).map(({ cells }) => cells)

test('CSV is read as RFC 4180 has it, and as spreadsheets write it', () => {
  expect(cellsOf('a,b\r\nc,d\r\n')).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ])
  expect(cellsOf('\u{feff}"a ""x"", y",b\n\n"two\nlines",d')).toEqual([
    ['a "x", y', 'b'],
    ['two\nlines', 'd'],
  ])
  expect(cellsOf('a;b,c;x\nd;e')).toEqual([
    ['a', 'b,c', 'x'],
    ['d', 'e'],
  ])
  expect(cellsOf('a\tb')).toEqual([['a', 'b']])
  expect(cellsOf('"never closed, b')).toEqual([['never closed, b']])
  expect(cellsOf('')).toEqual([])
  expect(readCsv('a\n"b\nc"\n\nd').map(({ line }) => line)).toEqual([1, 2, 5])
})

test.each([
  ['email,origin\nann@a.example,bounce\nbob@a.example,manual', ['ann@a.example', 'bob@a.example']],
  ['reason;E-Mail\nno;ann@a.example', ['ann@a.example']],
  ['ann@a.example\nnot an address\n', ['ann@a.example', 'not an address']],
  ['1,ann@a.example\n2,bob@a.example', ['ann@a.example', 'bob@a.example']],
  ['who,when\nann@a.example,2026\n,2025', ['ann@a.example']],
  ['email', ['email']],
])('the addresses of %j', (text, addresses) => {
  expect(addressesIn(readCsv(text)).map(({ address }) => address)).toEqual(addresses)
})

test('an address keeps the line that it stood in', () => {
  expect(addressesIn(readCsv('email\n\nann@a.example\nbob@a.example'))).toEqual([
    { line: 3, address: 'ann@a.example' },
    { line: 4, address: 'bob@a.example' },
  ])
})

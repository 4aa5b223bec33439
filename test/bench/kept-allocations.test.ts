import { expect, test } from 'vitest'
import { differences } from '../../bench/kept-allocations.ts'

const kept = { '2 KB': { main: 100_000, writer: 20_000 } }

test.each([
  ['the same', { main: 100_000, writer: 20_000 }, []],
  ['within the tolerance', { main: 102_900, writer: 25_900 }, []],
  ['below, within the tolerance', { main: 90_100, writer: 14_100 }, []],
  ['more', { main: 103_100, writer: 20_000 }, [/^2 KB, main: 103100 bytes a message, kept are 100000\. Each message costs more/]],
  ['less', { main: 89_900, writer: 20_000 }, [/^2 KB, main: 89900 .* keep it with "npm run bench -- --allocations --keep"/]],
  [
    'a thread that was not there',
    { main: 100_000, writer: 20_000, scan: 5000 },
    [/^2 KB, scan: 5000 bytes a message, kept are 0\. .*more/],
  ],
  ['a thread that is gone', { main: 100_000 }, [/^2 KB, writer: 0 .* keep it/]],
])('%s', (_, threads, lines) => {
  expect(differences(kept, { '2 KB': threads })).toEqual(lines.map((line) => expect.stringMatching(line)))
})

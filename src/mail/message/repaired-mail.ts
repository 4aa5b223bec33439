/** More lines in one field than any mail has; mailparser takes quadratic time for them. */
const maxFoldedLines = 2000
const foldedLines = /(?:\n[ \t][^\n:]*)+/g

function cutShort(folded: string): string {
  let end = 0
  for (let lines = 0; lines <= maxFoldedLines && end >= 0; lines++) end = folded.indexOf('\n', end + 1)
  return end < 0 ? folded : folded.slice(0, end)
}

/** Long runs of white space are shortened: libqp takes quadratic time for each. */
const blanks = /[\t ]{33,}/g

/** A long run of CRs is shortened too: mailparser takes quadratic time for it. */
const damaged = /\r\r\n|\r{9}|^--[^\s][^\r\n]{0,100}[ \t]\r?$/m

/**
 * A message with its line ends repaired: other programs may have added some at the beginning, doubled each CR, left out each LF, or put
 * spaces after a delimiter (which RFC 2046 5.1.1 allows, but mailparser does not).
 */
export function repairedMail(document: Buffer): Buffer {
  let start = 0
  while (document[start] === 13 || document[start] === 10) start++
  const asItCame = document.toString('latin1', start)
  if (!asItCame.includes('\n')) return Buffer.from(asItCame.replaceAll('\r', '\n'), 'latin1')
  const text = asItCame.replace(foldedLines, cutShort).replace(blanks, (row) => row.slice(0, 32))
  if (text === asItCame && !damaged.test(text)) return document.subarray(start)
  const lines = text.replace(/\r{9,}/g, '\r').replace(/\r{1,8}\n/g, '\n')
  return Buffer.from(
    lines.replace(/^--[^\s][^\n]{0,100}[ \t]$/gm, (line) => line.trimEnd()),
    'latin1',
  )
}

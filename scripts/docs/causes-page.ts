import { causes, partyOf, type CauseCode } from '../../src/readers/explanation/causes.ts'
import { wideEffects, type WideEffect } from '../../src/readers/explanation/wide-effect.ts'
import { replyEntries } from '../../src/readers/explanation/reply-entries.ts'
import type { ReplyEntry } from '../../src/readers/explanation/reply-entry.ts'

const effectMeanings = {
  slow_down: 'less mail a minute to that provider',
  fewer_connections: 'fewer connections at a time',
  shorter_connections: 'fewer messages over each connection',
  rest_address: 'no mail from the same IP address for a while',
  pause_domain: 'no mail of the same sending domain for a while',
} as const satisfies Record<WideEffect, string>

/** docs/causes.md */
export const causesPage = (): string =>
  [
    '# Causes',
    '',
    '<!-- Generated from src/readers/explanation by `npm run docs`; edit causes.ts or reply-entries.ts there. -->',
    '',
    'Why mail does not arrive. Each cause has one owner: the one who can do something about it. Lists, emails, attempts, analytics, the dashboard and',
    '`sterna reply explain` show the same cause and owner for the same reply, because all ask one function.',
    '',
    '`sterna reply explain FILE…` reads lines of JSON, `{"host", "phase", "reply"}`, and prints a line for each:',
    '',
    '- `cause`: see below.',
    '- `owner`: `operator`, `sender`, `recipient` or `provider`. The API has five words for them: `us` is the operator, `sender` and `content` are the',
    '  sender, `network` is the provider.',
    '- `effect`: what becomes of the message (`deliver`; `defer`: it is tried again; `bounce`: it is given up; `suppress`: that, and the address gets no',
    '  more mail), or what the reply calls for beyond it:',
    ...wideEffects.map((effect) => `  - \`${effect}\`: ${effectMeanings[effect]}`),
    '- `hard`: whether the address or its domain does not exist, or accepts no mail.',
    '- `next_step`: what to do, and the page of the provider about it, if it has one.',
    '- `entry`: what is known of such replies: see [Entries](#entries). Null if nothing is.',
    '',
    '## List',
    '',
    '| cause | owner | in the API | what it is |',
    '|---|---|---|---|',
    ...(Object.keys(causes) as CauseCode[]).map((code) => {
      const { owner, what } = causes[code]
      return `| \`${code}\` | ${partyOf[owner]} | \`${owner}\` | ${what} |`
    }),
    '',
    '## Entries',
    '',
    'In this order, the first entry that fits a reply decides. Words decide before codes, because many codes have several meanings; a provider is',
    'found by the name of the MX host, and matters only where others use the same words in another sense. `report` is a phase that is not known: of a',
    'bounce that came back, of mail that expired or was ended between attempts, and of what was stored before phases were.',
    '',
    '| entry | cause | effect | provider, phases, codes | page |',
    '|---|---|---|---|---|',
    ...replyEntries.map(
      (entry) => `| \`${entry.id}\` | \`${entry.cause}\` | ${effectOf(entry)} | ${conditionsOf(entry)} | ${pageOf(entry)} |`,
    ),
    '',
  ].join('\n')

const effectOf = ({ effect }: ReplyEntry): string => (effect === undefined ? '' : `\`${effect}\``)

const conditionsOf = ({ provider, phases, code }: ReplyEntry): string =>
  [
    ...(provider === undefined ? [] : [provider]),
    ...(phases ?? []),
    ...[code ?? []].flat().map((one) => (one < 10 ? `${one}yz` : `${one}`)),
  ].join(', ')

const pageOf = ({ page }: ReplyEntry): string => {
  if (page === undefined) return ''
  return page.startsWith('mailto:') ? page.slice('mailto:'.length) : `[${new URL(page).hostname}](${page})`
}

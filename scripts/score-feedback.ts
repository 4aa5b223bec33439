import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { concernedRecipients, isSystemPath, type Feedback } from '../src/mail/bounce-parser/feedback.ts'
import { matchFeedback } from '../src/mail-back/feedback/match-feedback.ts'
import { parseFeedback } from '../src/mail/bounce-parser/parse-feedback.ts'
import { readReturnedMessage } from '../src/mail/bounce-parser/read-returned-message.ts'
import { bounceVocabulary } from '../src/mail/bounce-vocabulary.ts'
import { suppressAfterBounce } from '../src/mail/suppression/suppression-policy.ts'

/**
 * How well returned messages are understood: `npm run score-feedback -- DIR [--list] [--with-token]`. DIR holds `labels.jsonl`, a line
 * for each message with `id` (its file), `structure`, `class`, `recipients` (`address`, `hard`) and `label_origin`; only
 * labels by people count. Each message is read twice, as it is stored and with CRLF line ends, and counts twice.
 *
 * A bounce is right where its class is, exactly the labelled recipients are reported, whatever the case of their
 * addresses, and each of them as hard or soft as its label has it. A complaint is right where its class is and the labelled
 * recipients are reported; `delivered` the same. What is neither bounce nor complaint is right where it would act on nothing:
 * no recipient of it is a failed one. Falsely hard are recipients reported hard whose label is not, of all
 * recipients that are labelled. Exits non-zero where a message breaks the reader.
 *
 * With `--with-token` each message comes to the bounce address of a recipient of ours instead: its label's, as it is, and where
 * there are several, each in turn. The reverse-path is what the message has in Return-Path, else null. What came back is not
 * our message, so that a report is believed by its address alone. A bounce is right where the recipient is bounced, hard or
 * soft as its label has it (a delay leaves it as it is, and is soft; what was forwarded is soft, whatever became of the address behind it),
 * and suppressed where it is hard, unless the DNS alone said so; anything else is right where nothing follows.
 */

interface LabelledRecipient {
  address: string | null
  hard: boolean
}

interface Label {
  id: string
  structure: string
  class: Feedback['class']
  recipients: LabelledRecipient[]
  label_origin: string
}

interface Scored {
  label: Label
  lineEnds: string
  feedback: Feedback | null
  fault: string | null
  ms: number
}

/** What stands in labels for an address that the message does not tell. */
const isUnknown = (address: string | null): boolean => address === null || /^undisclosed-.*\.invalid$/.test(address)

const withCrlf = (document: Buffer): Buffer => Buffer.from(document.toString('latin1').replace(/\r?\n/g, '\r\n'), 'latin1')

async function score(label: Label, lineEnds: string, document: Buffer): Promise<Scored> {
  const start = performance.now()
  try {
    const feedback = parseFeedback(await readReturnedMessage(document, bounceVocabulary()))
    return { label, lineEnds, feedback, fault: null, ms: performance.now() - start }
  } catch (error) {
    return { label, lineEnds, feedback: null, fault: String(error), ms: performance.now() - start }
  }
}

const lower = (address: string | null): string => (address ?? '').toLowerCase()

const labelled = ({ label }: Scored): LabelledRecipient[] => label.recipients.filter(({ address }) => !isUnknown(address))

const found = ({ feedback }: Scored, address: string | null) => feedback?.recipients.find((each) => lower(each.address) === lower(address))

const hasRecipients = (scored: Scored): boolean => labelled(scored).every(({ address }) => found(scored, address))

function isRightBounce(scored: Scored): boolean {
  const expected = labelled(scored)
  const reported = scored.feedback ? concernedRecipients(scored.feedback) : []
  if (scored.feedback?.class !== 'bounce' || !hasRecipients(scored)) return false
  if (expected.length > 0 && reported.length !== expected.length) return false
  return expected.every(({ address, hard }) => found(scored, address)?.hard === hard)
}

const actsOnNothing = ({ feedback }: Scored): boolean =>
  feedback !== null && feedback.class !== 'complaint' && feedback.recipients.every(({ action }) => action !== 'failed')

function isRight(scored: Scored): boolean {
  const { label, feedback } = scored
  if (label.class === 'bounce') return isRightBounce(scored)
  if (label.class === 'complaint') return feedback?.class === 'complaint' && hasRecipients(scored)
  if (label.class === 'delivered') return feedback?.class === 'delivered' && hasRecipients(scored)
  return actsOnNothing(scored)
}

const falselyHard = (scored: Scored): number =>
  scored.feedback?.recipients.filter(
    ({ address, hard }) => hard && !scored.label.recipients.some((each) => each.hard && lower(each.address) === lower(address)),
  ).length ?? 0

const share = (part: number, whole: number): string => `${part}/${whole} (${whole === 0 ? '-' : ((part * 100) / whole).toFixed(1)} %)`

function line(name: string, all: Scored[], filter: (label: Label) => boolean): string {
  const chosen = all.filter(({ label }) => filter(label))
  return `${name.padEnd(32)} ${share(chosen.filter(isRight).length, chosen.length)}\n`
}

function figures(all: Scored[]): string {
  const isBounce = (label: Label): boolean => label.class === 'bounce'
  const recipients = all.flatMap(({ label }) => label.recipients).length
  const wrongHard = all.reduce((sum, scored) => sum + falselyHard(scored), 0)
  const slowest = Math.max(...all.map(({ ms }) => ms))
  return [
    line('bounces: dsn', all, (label) => isBounce(label) && label.structure === 'dsn'),
    line('bounces: freeform', all, (label) => isBounce(label) && label.structure === 'freeform'),
    `${'falsely hard recipients'.padEnd(32)} ${share(wrongHard, recipients)}\n`,
    line('complaints', all, (label) => label.class === 'complaint'),
    line('delivered', all, (label) => label.class === 'delivered'),
    line('autoreplies acting on nothing', all, (label) => label.class === 'autoreply'),
    line('not-bounces acting on nothing', all, (label) => label.class === 'not-bounce'),
    `${'unreadable or broken'.padEnd(32)} ${all.filter(({ fault }) => fault !== null).length}\n`,
    `${'time'.padEnd(32)} ${all.reduce((sum, { ms }) => sum + ms, 0).toFixed(0)} ms, the slowest ${slowest.toFixed(0)} ms\n`,
  ].join('')
}

function wrongOne(scored: Scored): string {
  const { label, lineEnds, feedback, fault } = scored
  const shown = (recipients: readonly LabelledRecipient[]): string =>
    recipients.map(({ address, hard }) => `${address} ${hard ? 'hard' : 'soft'}`).join(', ')
  const got = feedback ? `${feedback.class}: ${shown(feedback.recipients)}` : fault
  const reasons = feedback?.recipients.map(({ category, status, reason }) => `      ${category} ${status} ${reason.slice(0, 200)}\n`) ?? []
  return `${label.id} ${lineEnds} (${label.structure})\n    label ${label.class}: ${shown(label.recipients)}\n    found ${got}\n${reasons.join('')}`
}

interface Replayed {
  label: Label
  recipient: LabelledRecipient
  /** What followed for the recipient. */
  outcome: 'hard' | 'soft' | 'delayed' | 'complained' | 'nothing'
  suppressed: boolean
  /** The report says that the mail was forwarded. */
  isForwarded: boolean
  /** Why nothing did, else what was read. */
  told: string
}

const policy = { hardBounces: true, complaints: true, softBounces: 0, expiry: 0 }

/** What follows where this message comes to the address that our mail to this recipient left from. */
async function replay(label: Label, recipient: LabelledRecipient, document: Buffer): Promise<Replayed> {
  const message = await readReturnedMessage(document, bounceVocabulary())
  const forwardPath = isUnknown(recipient.address) ? 'unknown@recipient.invalid' : (recipient.address ?? '')
  const reversePath = /<([^<>]+)>/.exec(message.field('return-path'))?.[1] ?? null
  const reading = parseFeedback(message, { forwardPath, isFromSystem: isSystemPath(reversePath) })
  const state = { forwardPath, state: 'delivered' as const, isInHand: false, deliveredAt: 1, complainedAt: null }
  const consequence = matchFeedback(reading, state, 'envelope')
  const isForwarded = reading.recipients.some(({ forwardedTo }) => forwardedTo != null)
  const found = { label, recipient, suppressed: false, isForwarded }
  if (consequence.type === 'complained' || consequence.type === 'opted_out')
    return { ...found, outcome: 'complained', suppressed: true, told: '' }
  if (consequence.type !== 'bounced') {
    const told = consequence.type === 'nothing' ? consequence.result : consequence.type
    return { ...found, outcome: told === 'delayed' ? 'delayed' : 'nothing', told }
  }
  const { hard, category, status, smtpCode, reason } = consequence.bounce
  const addressed = { address: forwardPath, messageId: 'em_0', recipientId: 'rcp_0' }
  const entries = suppressAfterBounce(
    { accountId: 'acc_0', sandbox: false },
    { ...addressed, hard, category, enhancedStatus: status, smtpCode, reason },
    policy,
    0,
  )
  const told = `${category} ${status} ${reason.slice(0, 200)}`
  return { ...found, outcome: hard ? 'hard' : 'soft', suppressed: entries.length > 0 || (hard && category === 'domain_not_found'), told }
}

function isRightReplay({ label, recipient, outcome, suppressed, isForwarded, told }: Replayed): boolean {
  // A report of a failed authentication has the form of a complaint, and is of the domain (RFC 6591).
  if (label.class === 'complaint') return outcome === 'complained' || told === 'no_effect'
  if (label.class !== 'bounce') return outcome === 'nothing'
  return recipient.hard && !isForwarded ? outcome === 'hard' && suppressed : (outcome === 'soft' || outcome === 'delayed') && !suppressed
}

function replayFigures(all: Replayed[]): string {
  const of = (name: string, isOne: (label: Label) => boolean): string => {
    const chosen = all.filter(({ label }) => isOne(label))
    return `${name.padEnd(32)} ${share(chosen.filter(isRightReplay).length, chosen.length)}\n`
  }
  const bounces = all.filter(({ label }) => label.class === 'bounce')
  const count = (isOne: (one: Replayed) => boolean): number => bounces.filter(isOne).length
  return [
    of('with token: bounces', (label) => label.class === 'bounce'),
    of('with token: dsn', (label) => label.class === 'bounce' && label.structure === 'dsn'),
    of('with token: freeform', (label) => label.class === 'bounce' && label.structure === 'freeform'),
    of('with token: autoreplies', (label) => label.class === 'autoreply'),
    of('with token: not-bounces', (label) => label.class === 'not-bounce'),
    of('with token: delivered', (label) => label.class === 'delivered'),
    of('with token: complaints', (label) => label.class === 'complaint'),
    `${'of bounces'.padEnd(32)} ${(['hard', 'soft', 'delayed', 'complained', 'nothing'] as const).map((outcome) => `${outcome} ${count((one) => one.outcome === outcome)}`).join(', ')}\n`,
    `${'suppressed'.padEnd(32)} ${count(({ suppressed }) => suppressed)}, falsely ${count(({ suppressed, recipient }) => suppressed && !recipient.hard)}\n`,
    `${'hard taken for soft'.padEnd(32)} ${share(
      count(({ recipient, outcome }) => recipient.hard && outcome !== 'hard'),
      count(({ recipient }) => recipient.hard),
    )}\n`,
  ].join('')
}

const wrongReplay = ({ label, recipient, outcome, told }: Replayed): string =>
  `${label.id} (${label.structure})\n    label ${label.class}: ${recipient.address} ${recipient.hard ? 'hard' : 'soft'}\n    found ${outcome}: ${told}\n`

const { values, positionals } = parseArgs({
  options: { list: { type: 'boolean' }, 'with-token': { type: 'boolean' } },
  allowPositionals: true,
})
const directory = positionals[0]
if (directory === undefined) throw new Error('Usage: npm run score-feedback -- DIR [--list]')
const labels = readFileSync(join(directory, 'labels.jsonl'), 'utf8')
  .split('\n')
  .filter((text) => text !== '')
  .map((text) => JSON.parse(text) as Label)
  .filter((label) => label.label_origin.startsWith('human:'))
const scored: Scored[] = []
for (const label of labels) {
  const document = readFileSync(join(directory, label.id))
  scored.push(await score(label, 'as stored', document), await score(label, 'with CRLF', withCrlf(document)))
}
if (values['with-token']) {
  const unnamed: LabelledRecipient[] = [{ address: null, hard: false }]
  const pairs = labels.flatMap((label) =>
    (label.recipients.length > 0 ? label.recipients : unnamed).map((recipient) => ({ label, recipient })),
  )
  const replayed: Replayed[] = []
  for (const { label, recipient } of pairs) {
    const document = readFileSync(join(directory, label.id))
    replayed.push(await replay(label, recipient, document), await replay(label, recipient, withCrlf(document)))
  }
  if (values.list)
    process.stdout.write(
      replayed
        .filter((each) => !isRightReplay(each))
        .map(wrongReplay)
        .join(''),
    )
  process.stdout.write(replayFigures(replayed))
  process.exit()
}
if (values.list)
  process.stdout.write(
    scored
      .filter((each) => !isRight(each))
      .map(wrongOne)
      .join(''),
  )
process.stdout.write(figures(scored))
if (scored.some(({ fault }) => fault !== null)) process.exitCode = 1

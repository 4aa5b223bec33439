import { readFileSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Feedback } from '../../../src/mail/bounce-parser/feedback.ts'
import { outcomeAtBounceAddress, type BounceOutcome } from '../../support/bounce-outcome.ts'

const fixtures = resolve(import.meta.dirname, '../../fixtures')
const namesIn = (folder: string): string[] =>
  readdirSync(join(fixtures, folder))
    .filter((name) => name.endsWith('.eml'))
    .map((name) => name.replace('.eml', ''))
const mail = (folder: string, name: string): Buffer => readFileSync(join(fixtures, folder, `${name}.eml`))
const meaning = <T>(folder: string, name: string): T => JSON.parse(readFileSync(join(fixtures, folder, `${name}.json`), 'utf8')) as T

describe('at the bounce address of a recipient', () => {
  it.each(namesIn('bounce-address'))('%s', async (name) => {
    const { about, outcome } = meaning<{ about: string; outcome: BounceOutcome }>('bounce-address', name)
    expect(await outcomeAtBounceAddress(mail('bounce-address', name), about)).toBe(outcome)
  })
})

describe.each(['dsn', 'freeform'])('no bounce of %s is without effect', (folder) => {
  const bounces = namesIn(folder).filter((name) => meaning<Partial<Feedback>>(folder, name).class === 'bounce')
  it.each(bounces)('%s', async (name) => {
    const { recipients = [] } = meaning<Partial<Feedback>>(folder, name)
    for (const { address, action } of recipients.filter((each) => each.action === 'failed' || each.action === 'delayed')) {
      const outcome = await outcomeAtBounceAddress(mail(folder, name), address ?? 'ann@rcpt.example')
      expect(action === 'delayed' ? ['delayed'] : ['hard', 'soft'], String(address)).toContain(outcome)
    }
  })
})

/** Out-of-office notes, answers of desks, questions, challenges and forwarded bounces, by language; none of them is a report. */
const people = readdirSync(join(fixtures, 'people')).flatMap((file) =>
  readFileSync(join(fixtures, 'people', file), 'utf8')
    .split(/^=== /m)
    .slice(1)
    .map((entry): [string, string] => [
      `${file.replace('.txt', '')}: ${entry.slice(0, entry.indexOf('\n'))}`,
      entry.slice(entry.indexOf('\n') + 1),
    ]),
)

describe('what people and desks write changes nothing', () => {
  it.each(people)('%s', async (_, text) => {
    expect(await outcomeAtBounceAddress(Buffer.from(text), 'ann@rcpt.example')).toBe('nothing')
    expect(await outcomeAtBounceAddress(Buffer.from(text.replaceAll('\n', '\r\n')), 'ann@rcpt.example')).toBe('nothing')
  })

  it('in ten languages and more', () => {
    expect(people.length).toBeGreaterThanOrEqual(60)
    expect(readdirSync(join(fixtures, 'people')).length).toBeGreaterThanOrEqual(10)
  })
})

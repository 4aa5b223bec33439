import { describe, expect, test } from 'vitest'
import { announcedId, listsMx, parseStsPolicy, StsFault, whyUnlisted } from '../../../src/mail-out/mta-sts/sts-policy.ts'

const text = (...lines: string[]): string => lines.map((line) => `${line}\r\n`).join('')
const enforced = ['version: STSv1', 'mode: enforce', 'mx: mx.example.com', 'max_age: 604800']
const without = (name: string): string[] => enforced.filter((line) => !line.startsWith(name))

describe('the record in the DNS', () => {
  test.each<[string, string[], string | null]>([
    ['that of RFC 8461', ['v=STSv1; id=20160831085700Z;'], '20160831085700Z'],
    ['without the last semicolon and spaces', ['v=STSv1;id=1'], '1'],
    ['with fields that we do not know', ['v=STSv1; new_field.x=a:b; id=A1'], 'A1'],
    ['beside other records', ['v=spf1 -all', 'v=STSv1; id=1', 'text'], '1'],
    ['none', [], null],
    ['another version', ['v=STSv2; id=1'], null],
    ['a version that is not first', ['id=1; v=STSv1'], null],
    ['two', ['v=STSv1; id=1', 'v=STSv1; id=1'], null],
    ['without id', ['v=STSv1;'], null],
    ['an empty id', ['v=STSv1; id='], null],
    ['an id of 33 characters', [`v=STSv1; id=${'1'.repeat(33)}`], null],
    ['an id with other characters', ['v=STSv1; id=2016-08-31'], null],
    ['two ids', ['v=STSv1; id=1; id=2'], null],
    ['a field without a value', ['v=STSv1; id=1; field'], null],
  ])('%s', (_, records, id) => {
    expect(announcedId(records)).toBe(id)
  })
})

describe('a policy', () => {
  test.each<[string, string, object]>([
    ['as RFC 8461 has it', text(...enforced), { mode: 'enforce', mx: ['mx.example.com'], maxAgeMs: 604_800_000 }],
    ['with LF alone, and none at the end', enforced.join('\n'), { mode: 'enforce' }],
    [
      'without spaces, and with more',
      text(...enforced)
        .replace(/: /g, ':')
        .replace('mode:', 'mode: \t '),
      { mode: 'enforce' },
    ],
    ['with names in upper case and with *', text(...without('mx'), 'mx: *.Example.NET'), { mx: ['*.example.net'] }],
    ['with several mx', text(...enforced, 'mx: b.example'), { mx: ['mx.example.com', 'b.example'] }],
    ['with a field twice', text(...enforced, 'mode: none', 'max_age: 1'), { mode: 'enforce', maxAgeMs: 604_800_000 }],
    ['with fields that we do not know', text(...enforced, 'x-new.y: Grüße: !'), { mode: 'enforce' }],
    ['that requires nothing any more', text(...without('mx'), '').replace('enforce', 'none'), { mode: 'none', mx: [] }],
    ['for more than a year', text(...without('max_age'), 'max_age: 9999999999'), { maxAgeMs: 31_557_600_000 }],
    ['for no time', text(...without('max_age'), 'max_age: 0'), { maxAgeMs: 300_000 }],
  ])('%s is read', (_, given, expected) => {
    expect(parseStsPolicy(given)).toMatchObject(expected)
  })

  test.each<[string, string, string]>([
    ['nothing', '', 'its version is missing, not STSv1'],
    ['a page', '<!doctype html>', 'line 1 is not a field with a value: "<!doctype html>"'],
    ['another version', text(...without('version'), 'version: STSv2'), 'its version is "STSv2", not STSv1'],
    // A pattern with two places for the spaces would take minutes.
    ['a long line that ends with no line', `a:${' '.repeat(60_000)}\rx`, 'its version is missing'],
    ['spaces without a colon', ' '.repeat(60_000) + '.', 'line 1 is not a field'],
    ['no mode', text(...without('mode')), 'its mode is missing, not enforce, testing or none'],
    ['a mode that is none', text(...without('mode'), 'mode: Enforce'), 'its mode is "Enforce"'],
    ['no max_age', text(...without('max_age')), 'its max_age is missing'],
    ['a max_age that is no number', text(...without('max_age'), 'max_age: -1'), 'its max_age is "-1", not a number of seconds'],
    ['no mx', text(...without('mx')), 'it names no mx'],
    ['a * that is no label of its own', text(...enforced, 'mx: mx*.example'), 'its mx "mx*.example" is not a host name'],
    ['a * in the middle', text(...enforced, 'mx: a.*.example'), 'its mx "a.*.example" is not a host name'],
    ['a name in other letters', text(...enforced, 'mx: mx.bücher.example'), 'is not a host name'],
    [
      'too many mx',
      text(...enforced, ...Array.from({ length: 500 }, (_, i) => `mx: mx${i}.example`)),
      'it has 501 mx fields; at most 500 are allowed',
    ],
  ])('%s is a fault', (_, given, fault) => {
    expect(() => parseStsPolicy(given)).toThrow(StsFault)
    expect(() => parseStsPolicy(given)).toThrow(fault)
  })
})

test.each<[string, string, boolean]>([
  ['mx.example.com', 'mx.example.com', true],
  ['mx.example.com', 'other.example.com', false],
  ['example.com', 'mx.example.com', false],
  ['*.example.com', 'mx.example.com', true],
  ['*.example.com', 'example.com', false],
  ['*.example.com', 'a.mx.example.com', false],
  ['*.example.com', 'mx.badexample.com', false],
  ['*.mx.microsoft', 'contoso-com.h-v1.mx.microsoft', false],
  ['*.h-v1.mx.microsoft', 'contoso-com.h-v1.mx.microsoft', true],
  ['localhost', 'localhost', true],
])('mx: %s, host %s: %s', (pattern, host, expected) => {
  expect(listsMx({ mx: ['first.test', pattern] }, host)).toBe(expected)
})

test('why a host is not listed is said so that the owner of the policy can correct it', () => {
  const microsoft = { mx: ['mail.example', '*.mx.microsoft'] }
  expect(whyUnlisted(microsoft, 'contoso-com.h-v1.mx.microsoft')).toBe('*.mx.microsoft stands for names with one label in place of the *')
  expect(whyUnlisted(microsoft, 'mx.other.example')).toBe('it lists mail.example, *.mx.microsoft')
  expect(whyUnlisted({ mx: ['a.test', 'b.test', 'c.test', 'd.test', 'e.test'] }, 'f.test')).toBe(
    'it lists a.test, b.test, c.test and 2 more',
  )
})

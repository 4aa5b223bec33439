import fc from 'fast-check'
import { anyCharacter } from './any-character.ts'

/** What nobody should send. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    ' ',
    0,
    -1,
    2 ** 53,
    1.5,
    true,
    [],
    {},
    [[]],
    [null],
    { __proto__: null },
    '\0',
    'a\r\nBcc: x@example.com',
    '\u{2028}',
    '\ud800',
    '\u{feff}',
    '../..',
    '%00',
    "' or 1=1 --",
    '${7*7}',
    '{{x}}',
    'a@b@c.example',
    '"a@b"@example.com',
    'x'.repeat(70_000),
    `${'a.'.repeat(200)}example`,
    '2026-02-30',
    '9999-12-31T23:59:60Z',
    'whsec_',
    'NaN',
  ),
  fc.string({ unit: anyCharacter, maxLength: 2000 }),
  fc.jsonValue({ maxDepth: 3 }),
  fc.array(fc.constant('a@example.com'), { minLength: 40, maxLength: 1200 }),
)

/** A valid value with one thing in it replaced, left out or added. */
export const mutated = (valid: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.tuple(valid, hostileValue, fc.nat(), fc.constantFrom('replace', 'remove', 'add')).map(([value, hostile, place, change]) => {
    const copy: unknown = structuredClone(value)
    const holders = [...holdersIn(copy)]
    const holder = holders[place % Math.max(holders.length, 1)]
    if (!holder) return hostile
    const keys = Object.keys(holder)
    const key = keys[place % Math.max(keys.length, 1)] ?? 'x'
    if (change === 'replace') holder[key] = hostile
    else if (change === 'remove') delete holder[key]
    else holder[['unknown', '__proto__x', 'constructor', '\0', ''][place % 5]!] = hostile
    return copy
  })

function* holdersIn(value: unknown): Generator<Record<string, unknown>> {
  if (value === null || typeof value !== 'object') return
  yield value as Record<string, unknown>
  for (const inner of Object.values(value)) yield* holdersIn(inner)
}

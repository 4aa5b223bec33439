import fc from 'fast-check'

const firstSurrogate = 0xd800
const surrogates = 0x800

/**
 * Any character of Unicode, as a unit of `fc.string`. fast-check has this as `unit: 'binary'`, with a table of all 1.1 million of them: it takes
 * a second to make, and the collector of garbage goes through it again and again.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(0x10ffff - surrogates).map(
  (place) => String.fromCodePoint(place < firstSurrogate ? place : place + surrogates),
  (character) => {
    const [first, ...more] = String(character)
    const point = first?.codePointAt(0)
    if (point === undefined || more.length > 0) throw new TypeError('Not one character')
    return point < firstSurrogate ? point : point - surrogates
  },
)

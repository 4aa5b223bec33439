/**
 * How many of the cases of a generated kind are tried: all in CI, which sets TEST_ALL_CASES, and a tenth where somebody waits for the
 * result. What is wrong for many inputs is found by a tenth, and a rare one within days either way.
 */
export const cases = (all: number): number => (process.env['TEST_ALL_CASES'] === undefined ? Math.ceil(all / 10) : all)

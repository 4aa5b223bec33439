/**
 * How many of something one party may have: fewer the less is left of all, down to one when a quarter is left. So it takes
 * hundreds that keep theirs to leave nothing for the others.
 * @param limit what it may have while nothing is used
 * @param left of all, 0 … 1
 */
export const fairShare = (limit: number, left: number): number => Math.max(1, Math.ceil(limit * left ** 3))

/**
 * How much of something one party may have: the less is left, the smaller its share, down to one when a quarter is left. So only hundreds
 * of parties together could use up everything.
 * @param limit its share while nothing is used
 * @param left of the whole, 0 … 1
 */
export const fairShare = (limit: number, left: number): number => Math.max(1, Math.ceil(limit * left ** 3))

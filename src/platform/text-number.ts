/** A number for a text, 0 … 2³¹ − 1: the same for the same text, and seldom the same for another. */
export function textNumber(text: string): number {
  let number = 0
  for (let i = 0; i < text.length; i++) number = (number * 31 + text.charCodeAt(i)) >>> 0
  return number >>> 1
}

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { textFromHtml } from '../../src/message/text-from-html.ts'

describe('textFromHtml', () => {
  it.each([
    ['<p>Hello <b>Ann</b>,</p><p>good  \n day</p>', 'Hello Ann,\n\ngood day'],
    ['a<br>b<br/>c', 'a\nb\nc'],
    ['<div>a</div><div>b</div>', 'a\nb'],
    ['a<br><br><br><br>b', 'a\n\nb'],
    ['<a href="https://example.com/?a=1&amp;b=2">Confirm</a> now', 'Confirm [https://example.com/?a=1&b=2] now'],
    ['<a href="https://example.com">https://example.com</a>', 'https://example.com'],
    ['<a href="mailto:a@example.com">a@example.com</a>', 'a@example.com'],
    ['<a href=https://example.com/x>x</a>', 'x [https://example.com/x]'],
    ["<a class='b' href='https://example.com'><img src=x alt='Logo'></a>", 'Logo [https://example.com]'],
    ['<a href="https://example.com"><img src=x></a>', 'https://example.com'],
    ['<a href="#top">Top</a><a href="javascript:x()">X</a>', 'TopX'],
    ['<a href="{{unsubscribe_url}}">Leave</a>', 'Leave [{{unsubscribe_url}}]'],
    ['<ul><li>a</li><li>b</li></ul>', '* a\n* b'],
    ['<ol><li>a<ul><li>b</ul><li>c</ol>', '1. a\n  * b\n2. c'],
    ['<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>', 'a b\nc'],
    ['<h1>T</h1>x<hr>y', 'T\n\nx\n\n-----\n\ny'],
    ['<pre>a\n  b</pre>c', 'a\n  b\n\nc'],
    ['<html><head><title>T</title><style>p{}</style></head><body>x</body></html>', 'x'],
    ['<script>if (a < b) "</p>"</script>x', 'x'],
    ['<SCRIPT>a</SCRIPT >x', 'x'],
    ['<script><!--<script>a</script>b--></script>c', 'c'],
    ['<script><!--a</script>b', 'b'],
    ['<script><!--><script></script>a', 'a'],
    ['<style></styles>a</style>b', 'b'],
    ['<![CDATA[a>b]]>c', 'b]]>c'],
    ['<!-->a<!--->b<!--!>c--!>d<!-- -- -->e', 'abde'],
    ['<textarea><b>a</b></textarea>', '<b>a</b>'],
    ['<iframe><b>a</b></iframe>b', 'b'],
    ['a<!-- <p>hidden --> b<![endif]-->c', 'a bc'],
    ['<!DOCTYPE html>x<?xml y?>', 'x'],
    ['&lt;b&gt; &amp;amp; &#8364;&#x20AC; &euro; &nbsp; &unknown; &copy &#0;&#xD800;', '<b> &amp; €€ € &unknown; &copy \ufffd\ufffd'],
    ['1 < 2 and 3 <4 <', '1 < 2 and 3 <4 <'],
    ['<p title="a > b">x</p>', 'x'],
    ['<p title="a"">x "y" z</p>', 'x "y" z'],
    ['x<p', 'x'],
    ['x<script>y', 'x'],
    ['', ''],
    ['  \n ', ''],
    ['Grüße 👍', 'Grüße 👍'],
  ])('reads %j', (html, text) => expect(textFromHtml(html)).toBe(text))

  it('never throws', () => {
    const piece = fc.constantFrom(
      '<',
      '>',
      '</',
      '<!--',
      '-->',
      '"',
      "'",
      '=',
      'a',
      ' ',
      '<a href="https://x">',
      '</a>',
      '<li>',
      '<ol>',
      '</ul>',
      '<pre>',
      '<script>',
      '&#',
      '&amp;',
      '\ud800',
    )
    fc.assert(fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => typeof textFromHtml(pieces.join('')) === 'string'))
  })

  // Each is 2 to 5 MB, over which a quadratic reader would take minutes to hours.
  it.each([
    ['<div>', 400_000],
    ['<', 5_000_000],
    ['<a ', 1_000_000],
    ['<a href="', 500_000],
    ["<a x='", 500_000],
    ['<a href="https://x">', 200_000],
    ['<!--', 1_000_000],
    ['<!', 2_000_000],
    ['</', 2_000_000],
    ['<script>', 500_000],
    ['<script></', 400_000],
    ['<ul><li>', 400_000],
    ['&', 5_000_000],
    ['&#', 2_000_000],
    ['&a', 2_000_000],
    ['<pre>\n', 500_000],
    ['<p>x', 1_000_000],
    [' ', 5_000_000],
    ['<a>x</a>', 500_000],
    ['<img alt=', 400_000],
  ])('reads %j many times', (html, count) => {
    expect(textFromHtml(html.repeat(count)).length).toBeLessThanOrEqual(html.length * count * 4)
  })

  it('reads tags with very many attributes', () => {
    expect(textFromHtml(`<a ${'x '.repeat(2000)}>`.repeat(1000))).toBe('')
    expect(textFromHtml(`<img ${'"'.repeat(4000)}>`.repeat(1000))).toBe('')
    expect(textFromHtml(`<img ${`x="y' z=' `.repeat(400)}>`.repeat(1000))).toBe('')
  })
})

/* Tags of a record that come as text, as in SAM: checks, and their form in BAM (SAM specification 1.6, sections 1.5 and
 * 4.2.4). */
#ifndef GASSST_SAM_TAGS_H
#define GASSST_SAM_TAGS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAG_HEAD = 5,        /* bytes of "XX:T:" */
    MAX_TAG_NUMBER = 64  /* characters of a number; what is longer is none that anybody needs */
};

static inline int tag_is_letter(uint8_t c)
{
    return (uint8_t)((c | 0x20) - 'a') <= 25;
}

static inline int tag_is_digit(uint8_t c)
{
    return (uint8_t)(c - '0') <= 9;
}

/* A whole number from `low` to `high`. */
static inline int tag_is_integer(const uint8_t *text, size_t length, int64_t low, int64_t high)
{
    size_t i = length && (text[0] == '-' || text[0] == '+');
    int64_t value = 0;
    if (i == length)
        return 0;
    for (; i < length; i++) {
        if (!tag_is_digit(text[i]) || value > INT64_C(1) << 40)
            return 0;
        value = 10 * value + (text[i] - '0');
    }
    value = text[0] == '-' ? -value : value;
    return low <= value && value <= high;
}

/* [-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)? */
static inline int tag_is_float(const uint8_t *text, size_t length)
{
    size_t i = length && (text[0] == '-' || text[0] == '+'), digits = 0;
    if (length > MAX_TAG_NUMBER)
        return 0;
    for (; i < length && tag_is_digit(text[i]); i++) digits++;
    if (i < length && text[i] == '.')
        for (i++, digits = 0; i < length && tag_is_digit(text[i]); i++) digits++;
    if (!digits)
        return 0;
    if (i == length)
        return 1;
    if ((text[i] | 0x20) != 'e')
        return 0;
    i++;
    i += i < length && (text[i] == '-' || text[i] == '+');
    for (digits = 0; i < length && tag_is_digit(text[i]); i++) digits++;
    return digits && i == length;
}

/* Range and bytes of the items of an array of type `kind`; 0 for an unknown type. */
static inline int tag_array_item(uint8_t kind, int64_t *low, int64_t *high)
{
    int is_signed = kind >= 'a', size = 0;
    switch (kind | 0x20) {
    case 'c': size = 1; break;
    case 's': size = 2; break;
    case 'i': size = 4; break;
    case 'f': return kind == 'f' ? 4 : 0;
    default: return 0;
    }
    *low = is_signed ? -(INT64_C(1) << (8 * size - 1)) : 0;
    *high = (INT64_C(1) << (8 * size - is_signed)) - 1;
    return size;
}

static inline size_t tag_until_comma(const uint8_t *text, size_t length)
{
    const uint8_t *comma = memchr(text, ',', length);
    return comma ? (size_t)(comma - text) : length;
}

static inline int tag_is_array(const uint8_t *text, size_t length)
{
    int64_t low = 0, high = 0;
    if (!length || !tag_array_item(text[0], &low, &high))
        return 0;
    for (size_t i = 1; i < length;) {
        if (text[i++] != ',')
            return 0;
        size_t item = tag_until_comma(text + i, length - i);
        if (!(text[0] == 'f' ? tag_is_float(text + i, item) : tag_is_integer(text + i, item, low, high)))
            return 0;
        i += item;
    }
    return 1;
}

static inline int tag_is_hex(const uint8_t *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!tag_is_digit(text[i]) && !(text[i] >= 'A' && text[i] <= 'F'))
            return 0;
    return length % 2 == 0;
}

static inline int tag_is_printable(const uint8_t *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~')
            return 0;
    return 1;
}

/* Whether `text` is one tag, "XX:T:value". */
static inline int tag_is_valid(const uint8_t *text, size_t length)
{
    const uint8_t *value = text + TAG_HEAD;
    size_t size = length - TAG_HEAD;
    if (length < TAG_HEAD || !tag_is_letter(text[0]) || !(tag_is_letter(text[1]) || tag_is_digit(text[1])) ||
        text[2] != ':' || text[4] != ':')
        return 0;
    switch (text[3]) {
    case 'A': return size == 1 && *value > ' ' && *value <= '~';
    case 'i': return tag_is_integer(value, size, INT32_MIN, UINT32_MAX);
    case 'f': return tag_is_float(value, size);
    case 'Z': return tag_is_printable(value, size);
    case 'H': return tag_is_hex(value, size);
    case 'B': return tag_is_array(value, size);
    default: return 0;
    }
}

/* A number that is one: the text goes on behind it, so it is copied to have an end. */
static inline double tag_float(const uint8_t *text, size_t length)
{
    char copy[MAX_TAG_NUMBER + 1];
    memcpy(copy, text, length);
    copy[length] = 0;
    return strtod(copy, NULL);
}

static inline int64_t tag_integer(const uint8_t *text, size_t length)
{
    int64_t value = 0;
    for (size_t i = text[0] == '-' || text[0] == '+'; i < length; i++) value = 10 * value + (text[i] - '0');
    return text[0] == '-' ? -value : value;
}

#endif

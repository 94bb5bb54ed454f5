/* ext/io/sam_tags.h: one tag as text. A tag that is taken for valid is one that the converters can read. */
#include <stdio.h>

#include "own_tags.h"
#include "sam_tags.h"

static void read_array(const uint8_t *text, size_t length)
{
    for (size_t i = 2, item; i < length; i += item + 1) {
        item = tag_until_comma(text + i, length - i);
        if (text[0] == 'f')
            tag_float(text + i, item);
        else
            tag_integer(text + i, item);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *text = malloc(size ? size : 1); /* a block of its own, behind which nothing may be read */
    if (!text)
        abort();
    if (size)
        memcpy(text, data, size);
    if (tag_is_valid(text, size)) {
        const uint8_t *value = text + TAG_HEAD;
        size_t length = size - TAG_HEAD;
        tag_is_dropped(text, DROPPED_ALWAYS);
        if (text[3] == 'i' && (tag_integer(value, length) < INT32_MIN || tag_integer(value, length) > UINT32_MAX))
            abort();
        if (text[3] == 'f')
            tag_float(value, length);
        if (text[3] == 'B')
            read_array(value, length);
    }
    free(text);
    return 0;
}
